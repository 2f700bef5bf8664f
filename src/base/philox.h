// Philox 4x32-10: random numbers as a function of a counter and a key, so
// that any example of any step can be made again without stored state.
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_high,
                          std::uint64_t counter_low) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  PhiloxBlock x = {static_cast<std::uint32_t>(counter_low),
                   static_cast<std::uint32_t>(counter_low >> 32),
                   static_cast<std::uint32_t>(counter_high),
                   static_cast<std::uint32_t>(counter_high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * x[0];
    const std::uint64_t p1 = 0xCD9E8D57ull * x[2];
    x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0,
         static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1,
         static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}

// Uniform in [0, 1) with 24 random bits: every value exact in f32.
inline float uniform_float(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

// Uniform in [0, 1) with 53 random bits.
inline double uniform_double(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace plimsoll
