#include "ops/movement/units_cuda.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll::ops {

std::string unit_type(std::int64_t bytes) {
  if (bytes < 4) return bytes == 1 ? "Vec<u8, 1>" : "Vec<u16, 1>";
  return fmt::format("Vec<u32, {}>", bytes / 4);
}

std::string unit_of(std::uint64_t bits, std::int64_t element_bytes,
                    std::int64_t unit_bytes) {
  const std::int64_t word_bytes = std::min<std::int64_t>(unit_bytes, 4);
  std::string text = "{{";
  for (std::int64_t at = 0; at < unit_bytes; at += word_bytes) {
    std::uint64_t word = 0;
    for (std::int64_t i = 0; i < word_bytes; ++i) {
      const std::int64_t byte = (at + i) % element_bytes;
      word |= (bits >> (8 * byte) & 0xff) << (8 * i);
    }
    text += fmt::format("{}{:#x}", at > 0 ? ", " : "", word);
  }
  return text + "}}";
}

}  // namespace plimsoll::ops
