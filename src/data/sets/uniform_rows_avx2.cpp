#include "data/sets/uniform_lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>

namespace plimsoll::data {
namespace {

struct Avx2 {
  using Reg = __m256i;
  static constexpr int kLanes = 4;
  static Reg set(std::uint64_t value) {
    return _mm256_set1_epi64x(static_cast<long long>(value));
  }
  static Reg counters(std::uint64_t first) {
    return _mm256_add_epi64(set(first), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Reg mul_words(Reg a, Reg b) { return _mm256_mul_epu32(a, b); }
  static Reg upper_words(Reg a) { return _mm256_srli_epi64(a, 32); }
  static Reg bit_xor(Reg a, Reg b) { return _mm256_xor_si256(a, b); }
  static void store(const Reg* lanes, float* out) {
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(lanes[0]),
                                           _mm256_castsi256_ps(lanes[1]), 0x88);
    const __m256i words =
        _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xD8);
    const __m256 whole = _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 8));
    _mm256_storeu_ps(out, _mm256_mul_ps(whole, _mm256_set1_ps(0x1p-24f)));
  }
};

}  // namespace

void fill_uniform_avx2(std::uint64_t key, std::uint64_t example,
                       std::uint64_t first_group, std::int64_t groups,
                       float* out) noexcept {
  fill_uniform_groups<Avx2>(key, example, first_group, groups, out);
}

}  // namespace plimsoll::data
#endif
