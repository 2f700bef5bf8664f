// Tensors of random numbers, one table per instruction set.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

// Numbers from `low` to `high` = low + span, or low + span * normal.
struct RandomFill {
  std::uint64_t key = 0;
  std::uint64_t lower_key = 0;  // of f64's lower words
  std::uint64_t step = 0;
  double low = 0;
  double span = 1;
  double high = 1;
};

// n elements that begin at element `first` of the tensor, a multiple of 64.
template <class T>
struct FillLoops {
  void (*uniform)(const RandomFill& fill, std::int64_t first, std::int64_t n,
                  T* out) = nullptr;
  void (*normal)(const RandomFill& fill, std::int64_t first, std::int64_t n,
                 T* out) = nullptr;
};

struct FillTables {
  FillLoops<float> f32;
  FillLoops<double> f64;
  FillLoops<Bf16> bf16;
  FillLoops<F16> f16;
};

PLIMSOLL_DECLARE_ISA_TABLE(FillTables, fill_tables)

}  // namespace plimsoll::ops
