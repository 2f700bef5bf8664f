#include "plan/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace plimsoll::plan {

void JsonReader::fail(const std::string& what) const {
  if (!status_) return;
  status_ = Error{ErrorCode::bad_input,
                  (path_.empty() ? "plan file" : path_) + ": " + what};
}

bool JsonReader::is_object_with(
    std::initializer_list<std::string_view> keys) const {
  if (!ok()) return false;
  if (!value_.is_object()) {
    fail("must be an object");
    return false;
  }
  for (const auto& [key, unused] : value_.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail("unknown key \"" + key + "\"");
    }
  }
  for (const std::string_view key : keys) {
    if (!value_.contains(key)) {
      fail("missing key \"" + std::string(key) + "\"");
    }
  }
  return ok();
}

bool JsonReader::has(std::string_view key) const {
  return value_.is_object() && value_.contains(key);
}

JsonReader JsonReader::operator[](std::string_view key) const {
  std::string path = path_.empty() ? "" : path_ + ".";
  path += key;
  return JsonReader(value_.at(std::string(key)), std::move(path), status_);
}

std::vector<JsonReader> JsonReader::items() const {
  std::vector<JsonReader> result;
  if (!ok()) return result;
  if (!value_.is_array()) {
    fail("must be an array");
    return result;
  }
  result.reserve(value_.size());
  for (std::size_t i = 0; i < value_.size(); ++i) {
    result.emplace_back(value_[i], path_ + "[" + std::to_string(i) + "]",
                        status_);
  }
  return result;
}

std::int64_t JsonReader::integer(std::int64_t least, std::int64_t most) const {
  if (!ok()) return 0;
  if (!value_.is_number_integer()) {
    fail("must be an integer");
    return 0;
  }
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const bool too_large =
      value_.is_number_unsigned() &&
      value_.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost);
  const std::int64_t number = too_large ? kMost : value_.get<std::int64_t>();
  if (too_large || number < least || number > most) {
    fail("must be from " + std::to_string(least) + " to " +
         std::to_string(most) + ", not " + value_.dump());
    return 0;
  }
  return number;
}

double JsonReader::duration() const {
  if (!ok()) return 0;
  const double number = value_.is_number() ? value_.get<double>() : -1;
  if (!std::isfinite(number) || number < 0) {
    fail("must be a number, finite and not negative");
    return 0;
  }
  return number;
}

std::string JsonReader::string() const {
  if (!ok()) return {};
  if (!value_.is_string()) {
    fail("must be a string");
    return {};
  }
  return value_.get<std::string>();
}

std::uint64_t JsonReader::hash() const {
  const std::string digits = string();
  std::uint64_t number = 0;
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (digits.size() != 16 || code != std::errc() ||
      end != digits.data() + digits.size()) {
    fail("must be 16 hexadecimal digits");
    return 0;
  }
  return number;
}

std::vector<std::int64_t> JsonReader::integers(std::int64_t least) const {
  std::vector<std::int64_t> result;
  for (const JsonReader& item : items()) {
    result.push_back(item.integer(least));
  }
  return result;
}

}  // namespace plimsoll::plan
