// Dropout over whole mask groups, see dropout_mask.h.
#pragma once

#include <cstdint>

#include "ops/isa.h"

namespace plimsoll::ops {

struct DropoutMask {
  std::uint64_t key = 0;
  std::uint64_t step = 0;
  std::uint32_t threshold = 0;
};

// y[i] = kept ? x[i] * scale : 0 for n elements that begin at element `first`
// of the tensor, a multiple of 64.
template <class T>
using DropoutLoop = void (*)(const T* x, std::int64_t first, std::int64_t n,
                             const DropoutMask& mask, T scale, T* y);

struct RandomTables {
  DropoutLoop<float> dropout_f32 = nullptr;
  DropoutLoop<double> dropout_f64 = nullptr;
};

PLIMSOLL_DECLARE_ISA_TABLE(RandomTables, random_tables)

}  // namespace plimsoll::ops
