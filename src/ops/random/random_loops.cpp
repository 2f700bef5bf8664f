// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/random/random_loops.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

constexpr int kBlocks = 16;
constexpr int kGroup = 4 * kBlocks;

// The words of 16 Philox blocks side by side: base/philox.h, 16 lanes wide.
void make_words(const DropoutMask& mask, std::uint64_t first_block,
                std::uint32_t* words) {
  std::uint32_t x0[kBlocks], x1[kBlocks], x2[kBlocks], x3[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t block = first_block + static_cast<std::uint64_t>(i);
    x0[i] = static_cast<std::uint32_t>(block);
    x1[i] = static_cast<std::uint32_t>(block >> 32);
    x2[i] = static_cast<std::uint32_t>(mask.step);
    x3[i] = static_cast<std::uint32_t>(mask.step >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(mask.key);
  auto k1 = static_cast<std::uint32_t>(mask.key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * x2[i];
      x0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ x1[i] ^ k0;
      x1[i] = static_cast<std::uint32_t>(p1);
      x2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ x3[i] ^ k1;
      x3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kBlocks; ++i) {
    words[i] = x0[i];
    words[kBlocks + i] = x1[i];
    words[2 * kBlocks + i] = x2[i];
    words[3 * kBlocks + i] = x3[i];
  }
}

template <class T>
void dropout(const T* x, std::int64_t first, std::int64_t n,
             const DropoutMask& mask, T scale, T* y) {
  std::uint32_t words[kGroup];
  for (std::int64_t i = 0; i < n; i += kGroup) {
    const auto group = static_cast<std::uint64_t>((first + i) / kGroup);
    make_words(mask, group * kBlocks, words);
    const std::int64_t count = n - i < kGroup ? n - i : kGroup;
    for (std::int64_t j = 0; j < count; ++j) {
      const T scaled = x[i + j] * scale;
      y[i + j] = words[j] >= mask.threshold ? scaled : T(0);
    }
  }
}

}  // namespace

RandomTables random_tables() { return {dropout<float>, dropout<double>}; }

}  // namespace plimsoll::ops::PLIMSOLL_ISA
