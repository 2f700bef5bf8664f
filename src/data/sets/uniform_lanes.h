// Philox over several counters at once, written once for all vector widths.
// A lane is 64 bits wide: the product of two words fits, and what remains in
// its upper half is never read.
#pragma once

#include <cstdint>

namespace plimsoll::data {

// `V` has: Reg, kLanes, set(u64), counters(u64 first), mul_words(a, b),
// upper_words(a), bit_xor(a, b), store(const Reg*, float*) for 8 lanes.
template <class V>
void fill_uniform_groups(std::uint64_t key, std::uint64_t example,
                         std::uint64_t first_group, std::int64_t groups,
                         float* out) noexcept {
  using Reg = typename V::Reg;
  constexpr int kRegs = 8 / V::kLanes;
  const Reg m0 = V::set(0xD2511F53u);
  const Reg m1 = V::set(0xCD9E8D57u);
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::uint64_t block =
        (first_group + static_cast<std::uint64_t>(group)) * 8;
    Reg x[4][kRegs];
    for (int r = 0; r < kRegs; ++r) {
      x[0][r] = V::counters(block + static_cast<std::uint64_t>(r * V::kLanes));
      x[1][r] = V::set(block >> 32);
      x[2][r] = V::set(example);
      x[3][r] = V::set(example >> 32);
    }
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const Reg key0 = V::set(k0);
      const Reg key1 = V::set(k1);
      for (int r = 0; r < kRegs; ++r) {
        const Reg p0 = V::mul_words(m0, x[0][r]);
        const Reg p1 = V::mul_words(m1, x[2][r]);
        x[0][r] = V::bit_xor(V::bit_xor(V::upper_words(p1), x[1][r]), key0);
        x[1][r] = p1;
        x[2][r] = V::bit_xor(V::bit_xor(V::upper_words(p0), x[3][r]), key1);
        x[3][r] = p0;
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int word = 0; word < 4; ++word) {
      V::store(x[word], out + group * 32 + word * 8);
    }
  }
}

// Defined where the compiler may use the instructions; see uniform_rows.cpp.
void fill_uniform_avx2(std::uint64_t key, std::uint64_t example,
                       std::uint64_t first_group, std::int64_t groups,
                       float* out) noexcept;
void fill_uniform_avx512(std::uint64_t key, std::uint64_t example,
                         std::uint64_t first_group, std::int64_t groups,
                         float* out) noexcept;

}  // namespace plimsoll::data
