// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/attention/attention_loops.h"

#include <utility>

#include "ops/normalization/stored_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

static_assert(kScoreLanes == kRowLanes);

// exp_negative, with fused products where that takes half the time; the
// candidate's name tells the instruction set.
template <class C>
inline void exp_fast(Lanes<C>& lanes) {
  exp_negative(lanes);
}
#if defined(__AVX512F__)
template <>
inline void exp_fast<float>(Lanes<float>& lanes) {
  __m512 x;
  __builtin_memcpy(&x, &lanes, sizeof(x));
  constexpr float kLowest = -87.0f;  // below it 0, never subnormal
  const __mmask16 some =
      _mm512_cmp_ps_mask(x, _mm512_set1_ps(kLowest), _CMP_NLT_UQ);
  const __m512 n = _mm512_maskz_roundscale_ps(
      some, _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0x08);  // to nearest
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(1.0f / 5040),
                             _mm512_set1_ps(1.0f / 720));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_maskz_scalef_ps(some, p, n);
  __builtin_memcpy(&lanes, &p, sizeof(p));
}
#endif

template <class T>
void load_rows(const T* from, std::int64_t stride, std::int64_t rows,
               std::int64_t n, Computed<T> factor, Computed<T>* to) {
  using C = Computed<T>;
  for (std::int64_t row = 0; row < rows; ++row) {
    for_lanes(n, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> lanes;
      load_wide(from, i, end, C(0), lanes);
      lanes *= factor;
      store_lanes(lanes, to, i, end);
    });
    from += stride;
    to += n;
  }
}

// Lane number l of vector r goes to lane r of vector l, for the bit kStep of
// both numbers.
template <int kStep, class C, std::size_t... kLane>
inline void exchange(Lanes<C>& a, Lanes<C>& b,
                     std::index_sequence<kLane...> /*all*/) {
  const Lanes<C> low = __builtin_shufflevector(
      a, b,
      ((kLane & kStep) != 0 ? kRowLanes + static_cast<int>(kLane) - kStep
                            : static_cast<int>(kLane))...);
  b = __builtin_shufflevector(
      a, b,
      ((kLane & kStep) != 0 ? kRowLanes + static_cast<int>(kLane)
                            : static_cast<int>(kLane) + kStep)...);
  a = low;
}

template <int kStep, class C>
inline void exchange_all(Lanes<C>* tile) {
#pragma GCC unroll 16
  for (int r = 0; r < kRowLanes; ++r) {
    if ((r & kStep) != 0) continue;
    exchange<kStep, C>(tile[r], tile[r + kStep],
                       std::make_index_sequence<kRowLanes>());
  }
}

// 16 rows of 16 lanes.
template <class C>
inline void turn(Lanes<C>* tile) {
#if defined(__AVX512F__)
  if constexpr (sizeof(C) == 4) {
    exchange_all<8, C>(tile);
    exchange_all<4, C>(tile);
    exchange_all<2, C>(tile);
    exchange_all<1, C>(tile);
    return;
  }
#endif
  C from[kRowLanes][kRowLanes];
  C to[kRowLanes][kRowLanes];
  __builtin_memcpy(from, tile, sizeof(from));
  for (int r = 0; r < kRowLanes; ++r) {
    for (int l = 0; l < kRowLanes; ++l) to[l][r] = from[r][l];
  }
  __builtin_memcpy(tile, to, sizeof(to));
}

template <class T>
void load_turned(const T* from, std::int64_t stride, std::int64_t rows,
                 std::int64_t n, Computed<T> factor, Computed<T>* to,
                 std::int64_t lanes) {
  using C = Computed<T>;
  for (std::int64_t row = 0; row < lanes; row += kRowLanes) {
    for (std::int64_t d = 0; d < n; d += kRowLanes) {
      Lanes<C> tile[kRowLanes];
      for (int r = 0; r < kRowLanes; ++r) {
        tile[r] = Lanes<C>{};
        if (row + r >= rows) continue;
        load_wide(from + (row + r) * stride, d, n, C(0), tile[r]);
        tile[r] *= factor;
      }
      turn<C>(tile);
      const std::int64_t count = n - d < kRowLanes ? n - d : kRowLanes;
      for (std::int64_t l = 0; l < count; ++l) {
        __builtin_memcpy(to + (d + l) * lanes + row, &tile[l], sizeof(tile[l]));
      }
    }
  }
}

template <class T>
void store_rows(const Computed<T>* from, const Computed<T>* factors,
                std::int64_t rows, std::int64_t n, T* to, std::int64_t stride) {
  using C = Computed<T>;
  for (std::int64_t row = 0; row < rows; ++row) {
    for_lanes(n, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> lanes;
      load_lanes(from, i, end, C(0), lanes);
      lanes *= factors[row];
      store_narrow(lanes, to, i, end);
    });
    from += n;
    to += stride;
  }
}

template <class T>
void row_dots(const T* a, const T* b, std::int64_t stride, std::int64_t rows,
              std::int64_t n, Computed<T>* dots) {
  using C = Computed<T>;
  for (std::int64_t row = 0; row < rows; ++row) {
    Lanes<C> sums = {};
    for_lanes(n, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> x;
      Lanes<C> y;
      load_wide(a, i, end, C(0), x);
      load_wide(b, i, end, C(0), y);
      sums += x * y;
    });
    dots[row] = lane_sum<C>(sums);
    a += stride;
    b += stride;
  }
}

// Calls run with so many vectors as a constant, for each group of lanes.
template <class Run>
inline void for_groups(std::int64_t lanes, Run&& run) {
  switch (lanes / kRowLanes) {
    case 4:
      return run(std::integral_constant<int, 4>());
    case 3:
      return run(std::integral_constant<int, 3>());
    case 2:
      return run(std::integral_constant<int, 2>());
    default:
      return run(std::integral_constant<int, 1>());
  }
}

template <class C>
inline void read(const C* from, Lanes<C>& lanes) {
  __builtin_memcpy(&lanes, from, sizeof(lanes));
}
template <class C>
inline void write(const Lanes<C>& lanes, C* to) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}

template <class C>
void soften(C* scores, std::int64_t keys, std::int64_t lanes, C* top, C* sum,
            C* fade) {
  for_groups(lanes, [&](auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    constexpr std::int64_t kWidth = kVectors * kRowLanes;
    const C lowest = static_cast<C>(-__builtin_huge_val());
    Lanes<C> most[kVectors];
    for (int g = 0; g < kVectors; ++g) read(top + g * kRowLanes, most[g]);
    for (std::int64_t j = 0; j < keys; ++j) {
      for (int g = 0; g < kVectors; ++g) {
        Lanes<C> s;
        read(scores + j * kWidth + g * kRowLanes, s);
        most[g] = s > most[g] ? s : most[g];
      }
    }
    Lanes<C> sums[kVectors] = {};
    Lanes<C> from[kVectors];
    for (int g = 0; g < kVectors; ++g) {
      Lanes<C> before;
      read(top + g * kRowLanes, before);
      write(most[g], top + g * kRowLanes);
      // Nothing is seen yet: every exponential is 0 from any number.
      const Lanes<C> zero = {};
      from[g] = most[g] == lowest ? zero : most[g];
      before -= from[g];
      exp_fast<C>(before);
      write(before, fade + g * kRowLanes);
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      for (int g = 0; g < kVectors; ++g) {
        C* at = scores + j * kWidth + g * kRowLanes;
        Lanes<C> s;
        read(at, s);
        s -= from[g];
        exp_fast<C>(s);
        sums[g] += s;
        write(s, at);
      }
    }
    for (int g = 0; g < kVectors; ++g) {
      Lanes<C> total;
      Lanes<C> factor;
      read(sum + g * kRowLanes, total);
      read(fade + g * kRowLanes, factor);
      total = total * factor + sums[g];
      write(total, sum + g * kRowLanes);
    }
  });
}

template <class C>
void fade_rows(C* rows, const C* factors, std::int64_t count, std::int64_t n) {
  for (std::int64_t row = 0; row < count; ++row) {
    const C factor = factors[row];
    if (factor == C(1)) continue;
    for (std::int64_t i = 0; i < n; ++i) rows[row * n + i] *= factor;
  }
}

template <class C>
void shares(C* scores, std::int64_t keys, std::int64_t lanes, const C* lse) {
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t i = 0; i < lanes; i += kRowLanes) {
      C* at = scores + j * lanes + i;
      Lanes<C> s;
      Lanes<C> less;
      read(at, s);
      read(lse + i, less);
      s -= less;
      exp_fast<C>(s);
      write(s, at);
    }
  }
}

template <class C>
void slopes(const C* shares, C* slopes, std::int64_t keys, std::int64_t lanes,
            const C* level) {
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t i = 0; i < lanes; i += kRowLanes) {
      Lanes<C> share;
      Lanes<C> slope;
      Lanes<C> less;
      read(shares + j * lanes + i, share);
      read(slopes + j * lanes + i, slope);
      read(level + i, less);
      slope = share * (slope - less);
      write(slope, slopes + j * lanes + i);
    }
  }
}

template <class C>
void hide(C* scores, const C* mask, std::int64_t count) {
  const Lanes<C> zero = {};
  const Lanes<C> unseen = zero + static_cast<C>(-__builtin_huge_val());
  for (std::int64_t i = 0; i < count; i += kRowLanes) {
    Lanes<C> s;
    Lanes<C> m;
    read(scores + i, s);
    read(mask + i, m);
    s = m == zero ? unseen : s;
    write(s, scores + i);
  }
}

template <class T>
AttentionLoops<T> loops_for() {
  using C = Computed<T>;
  return {load_rows<T>, load_turned<T>, store_rows<T>, row_dots<T>, soften<C>,
          fade_rows<C>, shares<C>,      slopes<C>,     hide<C>};
}

}  // namespace

AttentionTables attention_tables() {
  return {loops_for<float>(), loops_for<double>(), loops_for<Bf16>(),
          loops_for<F16>()};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
