// Names go into JSON, which holds UTF-8 alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::train {

// Overlong forms, surrogates and what lies past U+10FFFF are not UTF-8.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4) return false;
    std::uint32_t code = lead & (0x3Fu >> more);
    for (int k = 0; k < more; ++k, ++i) {
      if (i == text.size()) return false;
      const auto next = static_cast<std::uint8_t>(text[i]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    if (more == 2 && (code < 0x800 || (code >= 0xD800 && code < 0xE000)))
      return false;
    if (more == 3 && (code < 0x10000 || code > 0x10FFFF)) return false;
  }
  return true;
}

}  // namespace plimsoll::train
