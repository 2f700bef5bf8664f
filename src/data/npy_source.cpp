#include "data/npy_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "data/index_check.h"
#include "io/convert.h"

namespace plimsoll::data {
namespace {

// What is read before it is cast: long enough to make calls cheap, short
// enough to stay in the second-level cache.
constexpr std::int64_t kSliceBytes = 256 * kKiB;

}  // namespace

NpySource::NpySource(Field features, Field labels, std::int64_t examples)
    : features_(std::move(features)),
      labels_(std::move(labels)),
      examples_(examples) {}

Result<NpySource::Field> NpySource::open_field(const std::string& path) {
  PLIMSOLL_ASSIGN(io::NpyFile file, io::NpyFile::open(path));
  const auto& dims = file.header().shape.dims();
  if (dims.empty()) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: holds a single number; its first dimension "
                             "should count the examples",
                             path)};
  }
  FieldType type{file.header().dtype,
                 Shape(std::vector<Dim>(dims.begin() + 1, dims.end()))};
  PLIMSOLL_RETURN_IF_ERROR(check_set(path + ":", dims[0].size, type));
  return Field{std::move(file), std::move(type)};
}

Result<std::unique_ptr<NpySource>> NpySource::open(
    const std::string& features_path, const std::string& labels_path) {
  PLIMSOLL_ASSIGN(Field features, open_field(features_path));
  PLIMSOLL_ASSIGN(Field labels, open_field(labels_path));
  const std::int64_t examples = features.file.header().shape.extent(0);
  const std::int64_t label_count = labels.file.header().shape.extent(0);
  if (examples != label_count) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{} has {} examples, {} has {} labels: the "
                    "counts should be equal",
                    features_path, examples, labels_path, label_count)};
  }
  return std::unique_ptr<NpySource>(
      new NpySource(std::move(features), std::move(labels), examples));
}

std::int64_t NpySource::scratch_bytes(DType features_as,
                                      DType labels_as) const {
  const auto needed = [&](const Field& field, DType as) -> std::int64_t {
    if (field.type.dtype == as) return 0;
    return std::min(kSliceBytes, field.file.data_bytes());
  };
  // The fields are read one after the other.
  return std::max(needed(features_, features_as), needed(labels_, labels_as));
}

Status NpySource::read_rows(const Field& field, std::int64_t first,
                            std::int64_t rows, DType as, std::byte* out,
                            std::span<std::byte> scratch) {
  const std::int64_t row_bytes = field.type.bytes();
  std::int64_t offset = first * row_bytes;
  if (field.type.dtype == as) {
    return field.file.read(offset,
                           {out, static_cast<std::size_t>(rows * row_bytes)});
  }
  const std::int64_t width = size_of(field.type.dtype);
  const std::int64_t slice = static_cast<std::int64_t>(scratch.size()) / width;
  if (slice == 0) {
    return Error{
        ErrorCode::internal,
        fmt::format("{}: no slice buffer to cast from {} to {}",
                    field.file.path(), name_of(field.type.dtype), name_of(as))};
  }
  std::int64_t left = rows * field.type.elements();
  while (left > 0) {
    const std::int64_t now = std::min(left, slice);
    const auto part = scratch.first(static_cast<std::size_t>(now * width));
    PLIMSOLL_RETURN_IF_ERROR(field.file.read(offset, part));
    io::convert(field.type.dtype, part.data(), as, out, now);
    out += now * size_of(as);
    offset += now * width;
    left -= now;
  }
  return {};
}

Status NpySource::read_field(const Field& field,
                             std::span<const std::int64_t> indices, DType as,
                             void* out, std::span<std::byte> scratch) {
  auto* target = static_cast<std::byte*>(out);
  const std::int64_t out_bytes = field.type.elements() * size_of(as);
  for (std::size_t i = 0; i < indices.size();) {
    // Neighbours in the file are one read.
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    const auto rows = static_cast<std::int64_t>(end - i);
    auto status = read_rows(field, indices[i], rows, as, target, scratch);
    if (!status) {
      Error error = std::move(status).error();
      error.message +=
          fmt::format(" (examples {} to {})", indices[i], indices[end - 1]);
      return error;
    }
    target += rows * out_bytes;
    i = end;
  }
  return {};
}

Status NpySource::read(std::span<const std::int64_t> indices, DType features_as,
                       void* features, DType labels_as, void* labels,
                       std::span<std::byte> scratch) const {
  PLIMSOLL_RETURN_IF_ERROR(check_indices(*this, indices));
  if (features != nullptr) {
    PLIMSOLL_RETURN_IF_ERROR(
        read_field(features_, indices, features_as, features, scratch));
  }
  if (labels != nullptr) {
    PLIMSOLL_RETURN_IF_ERROR(
        read_field(labels_, indices, labels_as, labels, scratch));
  }
  return {};
}

std::string NpySource::describe() const {
  return fmt::format("npy: {} examples of {} {} from {}, labels from {}",
                     examples_, name_of(features_.type.dtype),
                     features_.type.shape.to_string(), features_.file.path(),
                     labels_.file.path());
}

}  // namespace plimsoll::data
