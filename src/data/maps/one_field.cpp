#include "data/maps/one_field.h"

#include <fmt/core.h>

namespace plimsoll::data {
namespace {

bool matches(const Extents& shape, const Extents& spec) {
  if (shape.rank != spec.rank) return false;
  for (int i = 0; i < spec.rank; ++i) {
    if (spec[i] != kVaries && spec[i] != shape[i]) return false;
  }
  return true;
}

}  // namespace

Result<int> find_field(const ElementSpec& spec, const FieldChoice& choice) {
  const int count = static_cast<int>(spec.size());
  if (choice.name.empty()) {
    if (choice.number >= 0 && choice.number < count) return choice.number;
    return Error{ErrorCode::bad_input,
                 fmt::format("there is no field {}; elements have {}: {}",
                             choice.number, count, to_string(spec))};
  }
  for (int i = 0; i < count; ++i) {
    if (spec[static_cast<std::size_t>(i)].name == choice.name) return i;
  }
  return Error{ErrorCode::bad_input,
               fmt::format("there is no field \"{}\"; elements have: {}",
                           choice.name, to_string(spec))};
}

Result<std::int64_t> checked_elements(const Extents& shape) {
  std::int64_t count = 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 56;  // times 8 fits too
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 0 || __builtin_mul_overflow(count, shape[i], &count) ||
        count > kMost) {
      return Error{ErrorCode::bad_input,
                   fmt::format("a shape of {} is more than memory can hold",
                               to_string(shape))};
    }
  }
  return count;
}

Result<ElementSpec> OneFieldMap::bind(const ElementSpec& in) {
  const auto found = find_field(in, choice_);
  if (!found) return bad(found.error().message);
  field_ = *found;
  in_spec_ = in[static_cast<std::size_t>(field_)];
  PLIMSOLL_ASSIGN(out_spec_, bind_field(in_spec_));
  out_spec_.name = in_spec_.name;
  ElementSpec out = in;
  out[static_cast<std::size_t>(field_)] = out_spec_;
  return out;
}

Status OneFieldMap::set_shape(Value& out, const Extents& shape) const {
  PLIMSOLL_ASSIGN(const std::int64_t count, checked_elements(shape));
  const std::int64_t bytes = count * size_of(out_spec_.dtype);
  if (bytes > out_spec_.most_bytes) {
    return wrong(fmt::format("{} takes {} bytes; at most {} were declared",
                             to_string(shape), bytes, out_spec_.most_bytes));
  }
  out.shape = shape;
  out.bytes = bytes;
  return {};
}

Status OneFieldMap::apply(const Element& in, Element& out,
                          std::span<std::byte* const> buffers,
                          const MapContext& context) const {
  const auto number = static_cast<std::size_t>(field_);
  const Value& value = in.values[number];
  std::byte* buffer = number < buffers.size() ? buffers[number] : nullptr;
  if (buffer == nullptr && writes(field_)) return {};  // nobody wants it
  if (!matches(value.shape, in_spec_.shape)) {
    return wrong(fmt::format("the field is {}; {} was declared",
                             to_string(value.shape),
                             to_string(in_spec_.shape)));
  }
  PLIMSOLL_ASSIGN(const std::int64_t count, checked_elements(value.shape));
  if (count * size_of(in_spec_.dtype) != value.bytes) {
    return wrong(fmt::format("the field has {} bytes; {} of {} have {}",
                             value.bytes, to_string(value.shape),
                             name_of(in_spec_.dtype),
                             count * size_of(in_spec_.dtype)));
  }
  return apply_field(value, out.values[number], buffer, in.index, context);
}

}  // namespace plimsoll::data
