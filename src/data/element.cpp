#include "data/element.h"

#include <fmt/core.h>

#include <utility>

namespace plimsoll::data {

Result<Extents> extents_of(const std::string& name,
                           const std::vector<std::int64_t>& sizes) {
  if (sizes.size() > kMostRank) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} of {} dimensions: at most {} can be", name,
                             sizes.size(), kMostRank)};
  }
  Extents extents;
  for (const std::int64_t size : sizes) {
    extents.sizes[static_cast<std::size_t>(extents.rank++)] = size;
  }
  return extents;
}

std::string to_string(const Extents& extents) {
  std::string text = "[";
  for (int i = 0; i < extents.rank; ++i) {
    if (i > 0) text += ", ";
    text += extents[i] == kVaries ? "?" : std::to_string(extents[i]);
  }
  return text + "]";
}

std::string to_string(const ElementSpec& spec) {
  std::string text;
  for (const FieldSpec& field : spec) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} {}", field.name, name_of(field.dtype),
                        to_string(field.shape));
  }
  return text;
}

FieldSpec fixed_field(std::string name, DType dtype, const Extents& shape) {
  return {std::move(name), dtype, shape, shape.elements() * size_of(dtype)};
}

void tell_names_apart(ElementSpec& spec) {
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const std::string name = spec[i].name;
    const auto is_taken = [&](const std::string& wanted) {
      for (std::size_t j = 0; j < i; ++j) {
        if (spec[j].name == wanted) return true;
      }
      return false;
    };
    for (int number = 2; is_taken(spec[i].name); ++number) {
      spec[i].name = fmt::format("{}_{}", name, number);
    }
  }
}

}  // namespace plimsoll::data
