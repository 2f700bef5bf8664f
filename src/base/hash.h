// FNV-1a: a small stable hash for keys and fingerprints that go into files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

constexpr std::uint64_t stable_hash(std::string_view text,
                                    std::uint64_t seed = 0xcbf29ce484222325) {
  std::uint64_t hash = seed;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

std::string hash_text(std::uint64_t hash);  // 16 hex digits

}  // namespace plimsoll
