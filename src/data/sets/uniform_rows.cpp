#include "data/sets/uniform_rows.h"

#include <cstring>

#include "data/sets/uniform_lanes.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace plimsoll::data {
namespace {

#if defined(__x86_64__)
struct Sse2 {  // every x86-64 has it
  using Reg = __m128i;
  static constexpr int kLanes = 2;
  static Reg set(std::uint64_t value) {
    return _mm_set1_epi64x(static_cast<long long>(value));
  }
  static Reg counters(std::uint64_t first) {
    return _mm_add_epi64(set(first), _mm_set_epi64x(1, 0));
  }
  static Reg mul_words(Reg a, Reg b) { return _mm_mul_epu32(a, b); }
  static Reg upper_words(Reg a) { return _mm_srli_epi64(a, 32); }
  static Reg bit_xor(Reg a, Reg b) { return _mm_xor_si128(a, b); }
  static void store(const Reg* lanes, float* out) {
    for (int half = 0; half < 2; ++half) {
      const __m128 words =
          _mm_shuffle_ps(_mm_castsi128_ps(lanes[2 * half]),
                         _mm_castsi128_ps(lanes[2 * half + 1]), 0x88);
      const __m128 whole =
          _mm_cvtepi32_ps(_mm_srli_epi32(_mm_castps_si128(words), 8));
      _mm_storeu_ps(out + 4 * half, _mm_mul_ps(whole, _mm_set1_ps(0x1p-24f)));
    }
  }
};
#endif

void fill_portable(std::uint64_t key, std::uint64_t example,
                   std::uint64_t first_group, std::int64_t groups,
                   float* out) noexcept {
#if defined(__x86_64__)
  fill_uniform_groups<Sse2>(key, example, first_group, groups, out);
#else
  for (std::int64_t block = 0; block < groups * 8; ++block) {
    const PhiloxBlock words = philox(
        key, example, first_group * 8 + static_cast<std::uint64_t>(block));
    float* group = out + block / 8 * kUniformGroup + block % 8;
    for (std::size_t word = 0; word < 4; ++word) {
      group[word * 8] = uniform_float(words[word]);
    }
  }
#endif
}

UniformKernel fastest() noexcept {
  for (int i = kUniformKernels - 1; i > 0; --i) {
    if (uniform_kernel(i).supported) return uniform_kernel(i);
  }
  return uniform_kernel(0);
}

}  // namespace

UniformKernel uniform_kernel(int index) noexcept {
#if defined(__x86_64__)
  if (index == 1) {
    return {"avx2", __builtin_cpu_supports("avx2") != 0, fill_uniform_avx2};
  }
  if (index == 2) {
    return {"avx512", __builtin_cpu_supports("avx512f") != 0,
            fill_uniform_avx512};
  }
#endif
  return {"portable", index == 0, fill_portable};
}

void fill_uniform(std::uint64_t key, std::uint64_t example, std::int64_t first,
                  std::int64_t count, float* out) noexcept {
  static const UniformKernel kernel = fastest();
  const auto group = static_cast<std::uint64_t>(first / kUniformGroup);
  const std::int64_t whole = count / kUniformGroup;
  kernel.fill(key, example, group, whole, out);
  const std::int64_t rest = count % kUniformGroup;
  if (rest == 0) return;
  if (rest <= 2) {  // one label: one counter is cheaper than eight
    for (std::int64_t i = count - rest; i < count; ++i) {
      out[i] = uniform_float(
          uniform_bits(key, example, static_cast<std::uint64_t>(first + i)));
    }
    return;
  }
  float tail[kUniformGroup];
  kernel.fill(key, example, group + static_cast<std::uint64_t>(whole), 1, tail);
  std::memcpy(out + whole * kUniformGroup, tail,
              static_cast<std::size_t>(rest) * sizeof(float));
}

}  // namespace plimsoll::data
