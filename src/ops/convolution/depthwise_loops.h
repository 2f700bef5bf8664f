// Depthwise convolutions: channels side by side in vectors, one row of the
// result at a time.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

// The taps of a row of pixels. Rows and columns outside of the source count as
// zero.
template <class T>
struct DepthwiseTaps {
  const T* source = nullptr;  // one image
  std::int64_t rows = 0;      // of it
  std::int64_t columns = 0;
  std::int64_t channels = 0;
  std::int64_t row = 0;  // that tap offset 0 reads
  const std::int64_t* row_offsets = nullptr;
  std::int64_t tap_rows = 0;
  std::int64_t column_step = 1;
  const std::int64_t* column_offsets = nullptr;
  std::int64_t tap_columns = 0;
  std::int64_t count = 0;  // pixels
};

template <class T>
struct DepthwiseRow {
  DepthwiseTaps<T> taps;
  const Computed<T>* weights = nullptr;  // [tap row, tap column, channels]
  const Computed<T>* bias = nullptr;     // null: none
  bool relu = false;
  T* out = nullptr;
  std::int64_t out_step = 0;  // elements from pixel to pixel
};

// Adds dy * source to `sums` [tap row, tap column, channels].
template <class T>
struct DepthwiseSums {
  DepthwiseTaps<T> taps;
  const T* dy = nullptr;
  Computed<T>* sums = nullptr;
};

template <class T>
struct DepthwiseLoops {
  void (*row)(const DepthwiseRow<T>& args) = nullptr;
  void (*sums)(const DepthwiseSums<T>& args) = nullptr;
};

struct DepthwiseTables {
  DepthwiseLoops<float> f32;
  DepthwiseLoops<double> f64;
  DepthwiseLoops<Bf16> bf16;
  DepthwiseLoops<F16> f16;
};

PLIMSOLL_DECLARE_ISA_TABLE(DepthwiseTables, depthwise_tables)

}  // namespace plimsoll::ops
