#include "data/random_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "data/index_check.h"
#include "data/uniform_rows.h"
#include "io/convert.h"

namespace plimsoll::data {
namespace {

FieldType label_type(const RandomSpec& spec) {
  switch (spec.labels) {
    case RandomLabels::uniform:
      return {DType::f32, spec.label_shape};
    case RandomLabels::classes:
      return {DType::i32, {}};
    case RandomLabels::binary:
      break;
  }
  return {DType::f32, {}};
}

void read_uniform(std::uint64_t key, std::int64_t example, std::int64_t count,
                  DType as, std::byte* out) {
  const auto index = static_cast<std::uint64_t>(example);
  if (as == DType::f32) {
    fill_uniform(key, index, 0, count, reinterpret_cast<float*>(out));
    return;
  }
  constexpr std::int64_t kChunk = 16 * kUniformGroup;
  float chunk[kChunk];
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t now = std::min(kChunk, count - first);
    fill_uniform(key, index, first, now, chunk);
    io::convert(DType::f32, chunk, as, out + first * size_of(as), now);
  }
}

}  // namespace

RandomSource::RandomSource(const RandomSpec& spec)
    : spec_(spec),
      features_{DType::f32, spec.features},
      labels_(label_type(spec)),
      // Streams of their own: other uses of the seed must not repeat them.
      feature_key_(stable_hash("data.random.features", ~spec.seed)),
      label_key_(stable_hash("data.random.labels", ~spec.seed)) {}

Result<std::unique_ptr<RandomSource>> RandomSource::create(
    const RandomSpec& spec) {
  std::unique_ptr<RandomSource> source(new RandomSource(spec));
  const std::string name = "the random source";
  PLIMSOLL_RETURN_IF_ERROR(check_set(name, spec.examples, source->features_));
  PLIMSOLL_RETURN_IF_ERROR(check_set(name, spec.examples, source->labels_));
  if (spec.labels == RandomLabels::classes &&
      (spec.classes < 1 || spec.classes > INT32_MAX)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} has labels of {} classes: 1 to {} can be",
                             name, spec.classes, INT32_MAX)};
  }
  return source;
}

void RandomSource::read_labels(std::int64_t example, DType as,
                               std::byte* out) const {
  if (spec_.labels == RandomLabels::uniform) {
    read_uniform(label_key_, example, labels_.elements(), as, out);
    return;
  }
  const std::uint32_t bits =
      uniform_bits(label_key_, static_cast<std::uint64_t>(example), 0);
  if (spec_.labels == RandomLabels::binary) {
    const float label = static_cast<float>(bits >> 31);
    io::convert(DType::f32, &label, as, out, 1);
    return;
  }
  const auto label = static_cast<std::int32_t>(
      bits * static_cast<std::uint64_t>(spec_.classes) >> 32);
  io::convert(DType::i32, &label, as, out, 1);
}

Status RandomSource::read(std::span<const std::int64_t> indices,
                          DType features_as, void* features, DType labels_as,
                          void* labels, std::span<std::byte>) const {
  PLIMSOLL_RETURN_IF_ERROR(check_indices(*this, indices));
  const std::int64_t feature_count = features_.elements();
  const std::int64_t feature_bytes = feature_count * size_of(features_as);
  const std::int64_t label_bytes = labels_.elements() * size_of(labels_as);
  auto* feature_row = static_cast<std::byte*>(features);
  auto* label_row = static_cast<std::byte*>(labels);
  for (const std::int64_t index : indices) {
    if (feature_row != nullptr) {
      read_uniform(feature_key_, index, feature_count, features_as,
                   feature_row);
      feature_row += feature_bytes;
    }
    if (label_row != nullptr) {
      read_labels(index, labels_as, label_row);
      label_row += label_bytes;
    }
  }
  return {};
}

std::string RandomSource::describe() const {
  return fmt::format("random: {} examples of {}, made as they are read",
                     spec_.examples, features_.shape.to_string());
}

}  // namespace plimsoll::data
