// Random words for the loops of this family, sixteen Philox blocks at a time.
// All of it has internal linkage: each instruction-set level has its own copy.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace plimsoll::ops {
namespace {

constexpr int kBlocks = 16;
constexpr int kGroup = 4 * kBlocks;

// Philox words in the low halves of 64-bit lanes, ready for the product.
constexpr int kHalf = kBlocks / 2;
typedef std::uint64_t Words __attribute__((vector_size(8 * kHalf)));

// The low halves' full products.
inline void multiply(const Words& a, std::uint32_t b, Words& product) {
#if defined(__AVX512F__)
  __m512i x;
  __builtin_memcpy(&x, &a, sizeof(x));
  x = _mm512_maskz_mul_epu32(0xff, x, _mm512_set1_epi64(b));
  __builtin_memcpy(&product, &x, sizeof(x));
#elif defined(__AVX2__)
  __m256i x[2];
  __builtin_memcpy(x, &a, sizeof(x));
  for (__m256i& half : x) half = _mm256_mul_epu32(half, _mm256_set1_epi64x(b));
  __builtin_memcpy(&product, x, sizeof(x));
#elif defined(__SSE2__)
  __m128i x[4];
  __builtin_memcpy(x, &a, sizeof(x));
  for (__m128i& part : x) part = _mm_mul_epu32(part, _mm_set1_epi64x(b));
  __builtin_memcpy(&product, x, sizeof(x));
#else
  product = a * std::uint64_t{b};
#endif
}

// The words of 8 blocks, base/philox.h eight lanes wide: word w of block i
// goes to words[w * kBlocks + i].
inline void make_half(std::uint64_t key, std::uint64_t step,
                      std::uint64_t first_block, std::uint32_t* words) {
  constexpr std::uint64_t kLow = 0xffffffffu;
  const Words counting = {0, 1, 2, 3, 4, 5, 6, 7};
  const Words blocks = counting + first_block;
  const Words zero = {};
  Words x0 = blocks & kLow;
  Words x1 = blocks >> 32;
  Words x2 = zero + (step & kLow);
  Words x3 = zero + (step >> 32);
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    Words p0, p1;
    multiply(x0, 0xD2511F53u, p0);
    multiply(x2, 0xCD9E8D57u, p1);
    x0 = (p1 >> 32) ^ x1 ^ std::uint64_t{k0};
    x1 = p1 & kLow;
    x2 = (p0 >> 32) ^ x3 ^ std::uint64_t{k1};
    x3 = p0 & kLow;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kHalf; ++i) {
    words[i] = static_cast<std::uint32_t>(x0[i]);
    words[kBlocks + i] = static_cast<std::uint32_t>(x1[i]);
    words[2 * kBlocks + i] = static_cast<std::uint32_t>(x2[i]);
    words[3 * kBlocks + i] = static_cast<std::uint32_t>(x3[i]);
  }
}

inline void make_words(std::uint64_t key, std::uint64_t step,
                       std::uint64_t first_block, std::uint32_t* words) {
  make_half(key, step, first_block, words);
  make_half(key, step, first_block + kHalf, words + kHalf);
}

}  // namespace
}  // namespace plimsoll::ops
