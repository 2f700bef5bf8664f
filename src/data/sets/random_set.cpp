#include "data/sets/random_set.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/hash.h"
#include "data/check.h"
#include "data/sets/uniform_rows.h"

namespace plimsoll::data {
namespace {

FieldSpec label_field(const RandomSpec& spec) {
  switch (spec.labels) {
    case RandomLabels::uniform:
      return fixed_field("labels", DType::f32, spec.label_shape);
    case RandomLabels::classes:
      return fixed_field("labels", DType::i32, spec.label_shape);
    case RandomLabels::binary:
      break;
  }
  return fixed_field("labels", DType::f32, {});
}

void make_uniform(std::uint64_t key, std::int64_t example,
                  const FieldSpec& field, DType as, std::byte* out) {
  fill_uniform(key, static_cast<std::uint64_t>(example), 0,
               field.shape.elements(), as, out);
}

void make_classes(std::uint64_t key, std::int64_t example,
                  const FieldSpec& field, std::int64_t classes,
                  std::byte* out) {
  auto* values = reinterpret_cast<std::int32_t*>(out);
  const UniformRow row(key, static_cast<std::uint64_t>(example));
  for (std::int64_t i = 0; i < field.shape.elements(); ++i) {
    values[i] =
        static_cast<std::int32_t>(row.bits(static_cast<std::uint32_t>(i)) *
                                      static_cast<std::uint64_t>(classes) >>
                                  32);
  }
}

}  // namespace

RandomSet::RandomSet(const RandomSpec& spec)
    : spec_(spec),
      fields_{fixed_field("features",
                          spec.feature_classes > 0 ? DType::i32 : DType::f32,
                          spec.features),
              label_field(spec)},
      // Streams of their own: other uses of the seed must not repeat them.
      feature_key_(stable_hash("data.random.features", ~spec.seed)),
      label_key_(stable_hash("data.random.labels", ~spec.seed)) {}

Result<std::unique_ptr<RandomSet>> RandomSet::create(const RandomSpec& spec) {
  const std::string name = "the random source";
  // Before the fields' bytes are multiplied out.
  PLIMSOLL_RETURN_IF_ERROR(check_field(
      name, spec.examples, {"features", DType::f32, spec.features, 0}));
  PLIMSOLL_RETURN_IF_ERROR(check_field(
      name, spec.examples, {"labels", DType::f32, spec.label_shape, 0}));
  if (spec.labels == RandomLabels::classes &&
      (spec.classes < 1 || spec.classes > INT32_MAX)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} has labels of {} classes: 1 to {} can be",
                             name, spec.classes, INT32_MAX)};
  }
  if (spec.feature_classes < 0 || spec.feature_classes > INT32_MAX) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} has features of {} classes: 1 to {} can be",
                             name, spec.feature_classes, INT32_MAX)};
  }
  return std::unique_ptr<RandomSet>(new RandomSet(spec));
}

void RandomSet::make_label(std::int64_t example, std::byte* out) const {
  if (spec_.labels == RandomLabels::uniform) {
    make_uniform(label_key_, example, fields_[1], DType::f32, out);
    return;
  }
  if (spec_.labels == RandomLabels::classes) {
    make_classes(label_key_, example, fields_[1], spec_.classes, out);
    return;
  }
  const UniformRow row(label_key_, static_cast<std::uint64_t>(example));
  const float label = static_cast<float>(row.bits(0) >> 31);
  std::memcpy(out, &label, sizeof(label));
}

Status RandomSet::gather(std::span<const std::int64_t> numbers,
                         std::span<std::byte* const> rows,
                         const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  std::byte* features = rows[0];
  std::byte* labels = rows[1];
  const DType as = context.as.empty() ? fields_[0].dtype : context.as[0];
  for (const std::int64_t number : numbers) {
    if (features != nullptr) {
      if (spec_.feature_classes > 0) {
        make_classes(feature_key_, number, fields_[0], spec_.feature_classes,
                     features);
      } else {
        make_uniform(feature_key_, number, fields_[0], as, features);
      }
      features += context.row_bytes(fields_, 0);
    }
    if (labels != nullptr) {
      make_label(number, labels);
      labels += fields_[1].most_bytes;
    }
  }
  return {};
}

bool RandomSet::makes(int field, DType as) const {
  return Indexed::makes(field, as) ||
         (field == 0 && spec_.feature_classes == 0 && as == DType::bf16);
}

std::string RandomSet::describe() const {
  return fmt::format("random: {} examples of {}, made as they are read",
                     spec_.examples, to_string(fields_[0].shape));
}

}  // namespace plimsoll::data
