#include "train/job_file/job_overrides.h"

#include <fmt/core.h>

#include <charconv>
#include <vector>

#include "train/job_file/job_toml.h"

namespace plimsoll::train {
namespace {

Error bad(const std::string& text, std::string_view why) {
  return {ErrorCode::bad_input, fmt::format("override `{}`: {}", text, why)};
}

void mark(JobValue& value, const std::string& origin) {
  value.origin = origin;
  for (JobValue& child : value.entries) mark(child, origin);
  for (JobValue& item : value.items) mark(item, origin);
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The member `key` of a table, made if it is not there, or item of an array.
Result<JobValue*> descend(JobValue& at, const std::string& key,
                          const std::string& text) {
  if (at.kind == JobValue::Kind::table) {
    if (JobValue* child = at.find(key)) return child;
    JobValue& made = at.entries.emplace_back();
    made.key = key;
    made.origin = text;
    return &made;
  }
  if (at.kind != JobValue::Kind::array) {
    return bad(text, fmt::format("`{}` lies inside {}, which has no parts", key,
                                 describe(at.kind)));
  }
  std::size_t index = 0;
  const char* end = key.data() + key.size();
  const auto [stop, failure] = std::from_chars(key.data(), end, index);
  if (failure != std::errc() || stop != end) {
    return bad(text,
               fmt::format("`{}` is no index, and an array needs one", key));
  }
  if (index >= at.items.size()) {
    return bad(text, fmt::format("index {} is past the end: there are {} items",
                                 index, at.items.size()));
  }
  return &at.items[index];
}

Result<JobValue> read_value(const std::string& value, const std::string& text) {
  if (value.empty()) return bad(text, "no value after the `=`");
  std::optional<JobValue> parsed = parse_toml_value(value);
  if (parsed) return *std::move(parsed);
  if (value.find_first_of("[]{}\"'\n,=") != std::string::npos)
    return bad(text, "the value is neither TOML nor a bare word");
  JobValue word;
  word.kind = JobValue::Kind::string;
  word.text = value;
  return word;
}

Status apply_one(JobValue& job, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return bad(text, "write it as dotted.key=value");
  PLIMSOLL_ASSIGN(JobValue value, read_value(text.substr(equals + 1), text));
  JobValue* at = &job;
  for (const std::string& key : split_path(text.substr(0, equals))) {
    if (key.empty()) return bad(text, "a part of the key is empty");
    PLIMSOLL_ASSIGN(at, descend(*at, key, text));
  }
  mark(value, text);
  value.key = at->key;
  *at = std::move(value);
  return {};
}

}  // namespace

Status apply_overrides(JobValue& job, std::span<const std::string> overrides) {
  for (const std::string& text : overrides) {
    PLIMSOLL_RETURN_IF_ERROR(apply_one(job, text));
  }
  return {};
}

}  // namespace plimsoll::train
