#include "data/array_source.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "data/index_check.h"
#include "io/convert.h"

namespace plimsoll::data {
namespace {

const std::byte* row(const ArrayField& field, std::int64_t index) {
  return static_cast<const std::byte*>(field.data) + index * field.type.bytes();
}

void gather(const ArrayField& field, std::span<const std::int64_t> indices,
            DType as, void* out) {
  const std::int64_t count = field.type.elements();
  const std::int64_t out_bytes = count * size_of(as);
  auto* target = static_cast<std::byte*>(out);
  for (const std::int64_t index : indices) {
    io::convert(field.type.dtype, row(field, index), as, target, count);
    target += out_bytes;
  }
}

}  // namespace

ArraySource::ArraySource(std::int64_t examples, ArrayField features,
                         ArrayField labels)
    : examples_(examples),
      features_(std::move(features)),
      labels_(std::move(labels)) {}

Result<std::unique_ptr<ArraySource>> ArraySource::create(std::int64_t examples,
                                                         ArrayField features,
                                                         ArrayField labels) {
  for (const ArrayField* field : {&features, &labels}) {
    const std::string name =
        field == &features ? "the feature array" : "the label array";
    PLIMSOLL_RETURN_IF_ERROR(check_set(name, examples, field->type));
    if (field->data == nullptr) {
      return Error{ErrorCode::bad_input, name + " is a null pointer"};
    }
  }
  return std::unique_ptr<ArraySource>(
      new ArraySource(examples, std::move(features), std::move(labels)));
}

Status ArraySource::read(std::span<const std::int64_t> indices,
                         DType features_as, void* features, DType labels_as,
                         void* labels, std::span<std::byte>) const {
  PLIMSOLL_RETURN_IF_ERROR(check_indices(*this, indices));
  if (features != nullptr) gather(features_, indices, features_as, features);
  if (labels != nullptr) gather(labels_, indices, labels_as, labels);
  return {};
}

const void* ArraySource::borrow_features(std::int64_t first, DType as) const {
  return as == features_.type.dtype ? row(features_, first) : nullptr;
}

const void* ArraySource::borrow_labels(std::int64_t first, DType as) const {
  return as == labels_.type.dtype ? row(labels_, first) : nullptr;
}

std::int64_t ArraySource::declared_user_bytes() const {
  return examples_ * (features_.type.bytes() + labels_.type.bytes());
}

std::string ArraySource::describe() const {
  return fmt::format("arrays: {} examples of {} {}", examples_,
                     name_of(features_.type.dtype),
                     features_.type.shape.to_string());
}

}  // namespace plimsoll::data
