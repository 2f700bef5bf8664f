// What normalization does with the channels of `rows` rows, one after another:
// sums down the rows in f64, and one pass over elements with a few values a
// channel.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

// Of each channel, from `rows` rows.
struct ChannelMoments {
  double* mean = nullptr;
  double* squares = nullptr;  // sum of squared distances from the mean
};

// Coefficients of each channel; see the loops.
template <class C>
struct ChannelFactors {
  C* shift = nullptr;
  C* scale = nullptr;
  C* slope = nullptr;
  C* offset = nullptr;
};

template <class T>
struct ChannelNormLoops {
  using C = Computed<T>;
  void (*moments)(const T* x, std::int64_t rows, std::int64_t channels,
                  const ChannelMoments& made) = nullptr;
  // sum += dy, dot += dy * (x - shift)
  void (*gradient_sums)(const T* dy, const T* x, std::int64_t rows,
                        std::int64_t channels, const C* shift, double* sum,
                        double* dot) = nullptr;
  // y = (x - shift) * scale + offset
  void (*normalize)(const T* x, std::int64_t rows, std::int64_t channels,
                    const ChannelFactors<C>& factors, T* y) = nullptr;
  // dx = dy * scale + (x - shift) * slope + offset
  void (*input_gradient)(const T* dy, const T* x, std::int64_t rows,
                         std::int64_t channels,
                         const ChannelFactors<C>& factors, T* dx) = nullptr;
};

struct ChannelNormTables {
  ChannelNormLoops<float> f32;
  ChannelNormLoops<double> f64;
  ChannelNormLoops<Bf16> bf16;
  ChannelNormLoops<F16> f16;
  // Moments of `rows` rows become those of these and `more_rows` others.
  void (*join_moments)(const ChannelMoments& moments, std::int64_t rows,
                       const ChannelMoments& more, std::int64_t more_rows,
                       std::int64_t channels) = nullptr;
};

PLIMSOLL_DECLARE_ISA_TABLE(ChannelNormTables, channel_norm_tables)

}  // namespace plimsoll::ops
