// A job file as a plain tree that knows where each value was written, so that
// reading it needs no TOML library and every complaint can name its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::train {

struct JobValue {
  enum class Kind { table, array, string, integer, real, boolean, other };

  std::string key;  // in its table
  Kind kind = Kind::table;
  std::vector<JobValue> entries;  // table
  std::vector<JobValue> items;    // array
  std::string text;               // string
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  int line = 1;        // of the value's key, or of the array's item
  std::string origin;  // the override it comes from; then line means nothing

  JobValue* find(std::string_view name);
  const JobValue* find(std::string_view name) const;
};

// "a string", "an integer", ...
std::string_view describe(JobValue::Kind kind);

}  // namespace plimsoll::train
