#include "data/sets/uniform_lanes.h"

#if defined(__AVX512F__)
#include <immintrin.h>

namespace plimsoll::data {
namespace {

struct Avx512 {
  using Reg = __m512i;
  static constexpr int kLanes = 8;
  static Reg set(std::uint64_t value) {
    return _mm512_set1_epi64(static_cast<long long>(value));
  }
  static Reg counters(std::uint64_t first) {
    return _mm512_add_epi64(set(first),
                            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Reg mul_words(Reg a, Reg b) { return _mm512_mul_epu32(a, b); }
  static Reg upper_words(Reg a) { return _mm512_srli_epi64(a, 32); }
  static Reg bit_xor(Reg a, Reg b) { return _mm512_xor_si512(a, b); }
  static void store(const Reg* lanes, float* out) {
    const __m256i words = _mm512_cvtepi64_epi32(lanes[0]);
    const __m256 whole = _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 8));
    _mm256_storeu_ps(out, _mm256_mul_ps(whole, _mm256_set1_ps(0x1p-24f)));
  }
};

}  // namespace

void fill_uniform_avx512(std::uint64_t key, std::uint64_t example,
                         std::uint64_t first_group, std::int64_t groups,
                         float* out) noexcept {
  fill_uniform_groups<Avx512>(key, example, first_group, groups, out);
}

}  // namespace plimsoll::data
#endif
