// What attention does around its products, on a block of scores. These lie
// turned, a row of `lanes` queries for each key, so that everything that
// belongs to a query stays in its lane; lanes are a multiple of kScoreLanes,
// kMostScoreLanes at the most.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

inline constexpr std::int64_t kScoreLanes = 16;
inline constexpr std::int64_t kMostScoreLanes = 64;

template <class T>
struct AttentionLoops {
  using C = Computed<T>;
  // Rows of n elements, `stride` from one to the next, times `factor`, close
  // together.
  void (*load_rows)(const T* from, std::int64_t stride, std::int64_t rows,
                    std::int64_t n, C factor, C* to) = nullptr;
  // Likewise, turned: element d of a row at to[d * lanes + row]; lanes behind
  // the last row are 0.
  void (*load_turned)(const T* from, std::int64_t stride, std::int64_t rows,
                      std::int64_t n, C factor, C* to,
                      std::int64_t lanes) = nullptr;
  // Rows that lie close together, each times its factor.
  void (*store_rows)(const C* from, const C* factors, std::int64_t rows,
                     std::int64_t n, T* to, std::int64_t stride) = nullptr;
  // The sum of a * b of each row.
  void (*row_dots)(const T* a, const T* b, std::int64_t stride,
                   std::int64_t rows, std::int64_t n, C* dots) = nullptr;

  // Scores become exp(score - top) with the largest score so far, and join
  // each query's sum; `fade` is what earlier sums have to be multiplied by.
  void (*soften)(C* scores, std::int64_t keys, std::int64_t lanes, C* top,
                 C* sum, C* fade) = nullptr;
  // Rows that lie close together, each times its factor, in place.
  void (*fade_rows)(C* rows, const C* factors, std::int64_t count,
                    std::int64_t n) = nullptr;
  // Scores become exp(score - lse).
  void (*shares)(C* scores, std::int64_t keys, std::int64_t lanes,
                 const C* lse) = nullptr;
  // slopes = shares * (slopes - level)
  void (*slopes)(const C* shares, C* slopes, std::int64_t keys,
                 std::int64_t lanes, const C* level) = nullptr;
  // Scores become -infinity where the mask, which lies as they do, is 0.
  void (*hide)(C* scores, const C* mask, std::int64_t count) = nullptr;
};

struct AttentionTables {
  AttentionLoops<float> f32;
  AttentionLoops<double> f64;
  AttentionLoops<Bf16> bf16;
  AttentionLoops<F16> f16;
};

PLIMSOLL_DECLARE_ISA_TABLE(AttentionTables, attention_tables)

}  // namespace plimsoll::ops
