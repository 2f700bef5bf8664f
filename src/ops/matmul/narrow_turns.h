// Lines of bf16 whose elements lie in turn, taken apart by permutations.
// Included by files of loops, hence internal linkage.
#pragma once

#include "ops/simd/simd.h"

#if defined(__AVX512BW__)
namespace plimsoll::ops {
namespace {

inline constexpr std::int64_t kTurn = 32;  // elements of a register

// 32 elements of each of `lines` lines that lie in turn: as many registers as
// lines. A permutation of each two of them gives what they have of a line.
// `put` takes a line's number and its elements.
template <class Put>
inline void take_turns(const std::uint16_t* from, std::int64_t lines,
                       const Put& put) {
  std::uint16_t places[kTurn];  // of the first line's elements
  for (std::int64_t i = 0; i < kTurn; ++i) {
    places[i] = static_cast<std::uint16_t>(i * lines);
  }
  __m512i place = _mm512_loadu_si512(places);
  for (std::int64_t j = 0; j < lines; ++j) {
    const __m512i two = _mm512_srli_epi16(place, 6);  // which two hold them
    __m512i line = _mm512_setzero_si512();
    for (std::int64_t k = 0; k < lines; k += 2) {
      const __m512i low = _mm512_loadu_si512(from + k * kTurn);
      const __m512i high = k + 1 < lines
                               ? _mm512_loadu_si512(from + (k + 1) * kTurn)
                               : _mm512_setzero_si512();
      const __mmask32 here = _mm512_cmpeq_epi16_mask(
          two, _mm512_set1_epi16(static_cast<short>(k / 2)));
      line = _mm512_or_si512(
          line, _mm512_maskz_permutex2var_epi16(here, low, place, high));
    }
    put(j, line);
    place = _mm512_add_epi16(place, _mm512_set1_epi16(1));
  }
}

// The same with words of two elements, 16 of each line.
template <class Put>
inline void take_word_turns(const std::uint16_t* from, std::int64_t lines,
                            const Put& put) {
  constexpr std::int64_t kWords = 16;
  std::uint32_t places[kWords];
  for (std::int64_t i = 0; i < kWords; ++i) {
    places[i] = static_cast<std::uint32_t>(i * lines);
  }
  __m512i place = _mm512_loadu_si512(places);
  for (std::int64_t j = 0; j < lines; ++j) {
    const __m512i two = _mm512_srli_epi32(place, 5);
    __m512i line = _mm512_setzero_si512();
    for (std::int64_t k = 0; k < lines; k += 2) {
      const __m512i low = _mm512_loadu_si512(from + k * kTurn);
      const __m512i high = k + 1 < lines
                               ? _mm512_loadu_si512(from + (k + 1) * kTurn)
                               : _mm512_setzero_si512();
      const __mmask16 here = _mm512_cmpeq_epi32_mask(
          two, _mm512_set1_epi32(static_cast<int>(k / 2)));
      line = _mm512_or_si512(
          line, _mm512_maskz_permutex2var_epi32(here, low, place, high));
    }
    put(j, line);
    place = _mm512_add_epi32(place, _mm512_set1_epi32(1));
  }
}

}  // namespace
}  // namespace plimsoll::ops
#endif
