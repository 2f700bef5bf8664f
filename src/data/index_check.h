// Indices come from callers: one outside the set must not reach memory.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "data/source.h"

namespace plimsoll::data {

inline Status check_indices(const Source& source,
                            std::span<const std::int64_t> indices) {
  const auto count = static_cast<std::uint64_t>(source.examples());
  for (const std::int64_t index : indices) {
    if (static_cast<std::uint64_t>(index) >= count) {
      return Error{ErrorCode::bad_input, fmt::format("{} has no example {}",
                                                     source.describe(), index)};
    }
  }
  return {};
}

// Counts and shapes of one set must multiply to bytes that a file or a mapping
// can have.
inline Status check_set(const std::string& name, std::int64_t examples,
                        const FieldType& type) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{} {}", name, what)};
  };
  if (examples < 1) return bad("holds no examples");
  for (const Dim& dim : type.shape.dims()) {
    if (dim.per_batch || dim.size < 1) {
      return bad(
          fmt::format("has examples of {}: every size must be fixed "
                      "and at least 1",
                      type.shape.to_string()));
    }
  }
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
  std::int64_t bytes = examples;
  bool overflow = __builtin_mul_overflow(bytes, size_of(type.dtype), &bytes);
  for (const Dim& dim : type.shape.dims()) {
    overflow = overflow || __builtin_mul_overflow(bytes, dim.size, &bytes);
  }
  if (overflow || bytes > kMostBytes) {
    return bad(fmt::format("has {} examples of {}: more than 2^60 bytes",
                           examples, type.shape.to_string()));
  }
  return {};
}

}  // namespace plimsoll::data
