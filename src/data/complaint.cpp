// Whether the value of an option is what the catalogue says of it.
#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "data/recipe.h"

namespace plimsoll::data {
namespace {

constexpr const char* kTypes[] = {
    "true or false",      "an integer",        "a number",         "a string",
    "a list of integers", "a list of numbers", "a list of strings"};

std::string not_a(std::string_view right, const OptionValue& value) {
  return fmt::format("must be {}, not {}", right, kTypes[value.index()]);
}

template <class T>
std::string of_type(const OptionValue& value, std::string_view right) {
  return std::holds_alternative<T>(value) ? "" : not_a(right, value);
}

std::string integer_complaint(const OptionDef& def, const OptionValue& value) {
  const std::string right = fmt::format("an integer from {} to {}",
                                        static_cast<std::int64_t>(def.least),
                                        static_cast<std::int64_t>(def.most));
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return not_a(right, value);
  const auto wide = static_cast<double>(*number);
  if (wide >= def.least && wide <= def.most) return {};
  return fmt::format("must be {}, not {}", right, *number);
}

std::string number_complaint(const OptionDef& def, double number) {
  if (number >= def.least && number <= def.most) return {};
  return fmt::format("must be a number from {} to {}, not {}", def.least,
                     def.most, number);
}

std::string text_complaint(const OptionDef& def, const OptionValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return not_a("a string", value);
  if (text->empty()) return "must not be empty";
  if (def.choices.empty()) return {};
  std::string known;
  for (std::string_view left = def.choices; !left.empty();) {
    const std::size_t end = std::min(left.find(' '), left.size());
    if (left.substr(0, end) == *text) return {};
    known +=
        fmt::format("{}`{}`", known.empty() ? "" : ", ", left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return fmt::format("there is no `{}`; there are {}", *text, known);
}

std::string size_complaint(const OptionValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return not_a("a size such as \"4MiB\"", value);
  const auto bytes = parse_size(*text, 0);
  return bytes ? "" : bytes.error().message;
}

// Of any type: an empty list in a file has none.
bool is_empty_list(const OptionValue& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (requires { held.data(); }) return held.empty();
        return false;
      },
      value);
}

template <class T>
std::string list_complaint(const OptionValue& value, std::string_view what) {
  if (is_empty_list(value)) return "must not be empty";
  if (std::holds_alternative<T>(value) ||
      std::holds_alternative<std::vector<T>>(value)) {
    return {};
  }
  return not_a(fmt::format("a list of {}", what), value);
}

std::string numbers_complaint(const OptionDef& def, const OptionValue& value) {
  if (std::holds_alternative<std::int64_t>(value) ||
      std::holds_alternative<std::vector<std::int64_t>>(value)) {
    return list_complaint<std::int64_t>(value, "numbers");
  }
  std::string wrong = list_complaint<double>(value, "numbers");
  const auto* list = std::get_if<std::vector<double>>(&value);
  for (std::size_t i = 0; list && wrong.empty() && i < list->size(); ++i) {
    wrong = number_complaint(def, (*list)[i]);
  }
  return wrong;
}

}  // namespace

std::string complaint(const OptionDef& def, const OptionValue& value) {
  switch (def.kind) {
    case OptionKind::flag:
      return of_type<bool>(value, "true or false");
    case OptionKind::integer:
      return integer_complaint(def, value);
    case OptionKind::number:
      if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        return number_complaint(def, static_cast<double>(*whole));
      }
      if (const auto* number = std::get_if<double>(&value)) {
        return number_complaint(def, *number);
      }
      return not_a("a number", value);
    case OptionKind::text:
    case OptionKind::path:
      return text_complaint(def, value);
    case OptionKind::size:
      return size_complaint(value);
    case OptionKind::integers:
      return list_complaint<std::int64_t>(value, "integers");
    case OptionKind::numbers:
      return numbers_complaint(def, value);
    case OptionKind::texts:
    case OptionKind::paths:
      return list_complaint<std::string>(value, "strings");
  }
  return {};
}

}  // namespace plimsoll::data
