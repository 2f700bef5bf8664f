// Reads JSON values with checks; the first thing wrong is kept, with its path.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::plan {

// A value at a path such as "programs[0].order". After the first failure all
// readers return defaults, so that callers check once, at the end.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& value, std::string path, Status& status)
      : value_(value), path_(std::move(path)), status_(status) {}

  // Fails unless this is an object with exactly these keys.
  bool is_object_with(std::initializer_list<std::string_view> keys) const;
  bool has(std::string_view key) const;  // false unless an object
  // The value under a key that is_object_with() has seen.
  JsonReader operator[](std::string_view key) const;
  std::vector<JsonReader> items() const;  // of an array

  std::int64_t integer(
      std::int64_t least = 0,
      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  double duration() const;  // finite and not negative
  std::string string() const;
  std::uint64_t hash() const;  // 16 hex digits
  std::vector<std::int64_t> integers(std::int64_t least) const;

  void fail(const std::string& what) const;
  bool ok() const { return status_.ok(); }

 private:
  const nlohmann::json& value_;
  std::string path_;
  Status& status_;
};

}  // namespace plimsoll::plan
