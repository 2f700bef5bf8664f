#include "train/job_file/job_toml.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>

namespace plimsoll::train {
namespace {

int line_of(const toml::source_region& region) {
  return static_cast<int>(region.begin.line);
}

JobValue convert(const toml::node& node, int line) {
  JobValue value;
  value.line = line;
  if (const auto* table = node.as_table()) {
    for (const auto& [key, child] : *table) {
      const int at = line_of(key.source());
      value.entries.push_back(convert(child, at));
      value.entries.back().key = key.str();
    }
    // The library sorts by name; complaints should come in the file's order.
    std::stable_sort(
        value.entries.begin(), value.entries.end(),
        [](const JobValue& a, const JobValue& b) { return a.line < b.line; });
  } else if (const auto* array = node.as_array()) {
    value.kind = JobValue::Kind::array;
    for (const toml::node& item : *array) {
      value.items.push_back(convert(item, line_of(item.source())));
    }
  } else if (const auto* text = node.as_string()) {
    value.kind = JobValue::Kind::string;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = JobValue::Kind::integer;
    value.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    value.kind = JobValue::Kind::real;
    value.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = JobValue::Kind::boolean;
    value.boolean = boolean->get();
  } else {
    value.kind = JobValue::Kind::other;
  }
  return value;
}

}  // namespace

Result<JobValue> parse_job_toml(std::string_view text,
                                const std::string& file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}:{}: not valid TOML: {}", file,
                             line_of(parsed.error().source()),
                             parsed.error().description())};
  }
  return convert(parsed.table(), 1);
}

std::optional<JobValue> parse_toml_value(const std::string& text) {
  const toml::parse_result parsed = toml::parse("value = " + text);
  // More keys than one: the text held a line break and went on.
  if (!parsed || parsed.table().size() != 1) return std::nullopt;
  return convert(parsed.table().begin()->second, 0);
}

}  // namespace plimsoll::train
