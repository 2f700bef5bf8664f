// bf16 and f16 to f32 and back, by the best instructions of this processor:
// kernels compute in f32 and convert blocks of what is stored.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "ops/isa.h"

namespace plimsoll::ops {

// `out` and `in` never overlap.
using WidenLoop = void (*)(const std::uint16_t* in, float* out, std::int64_t n);
using NarrowLoop = void (*)(const float* in, std::uint16_t* out,
                            std::int64_t n);

struct HalfLoops {
  WidenLoop widen_bf16 = nullptr;
  WidenLoop widen_f16 = nullptr;
  NarrowLoop narrow_bf16 = nullptr;
  NarrowLoop narrow_f16 = nullptr;
};

PLIMSOLL_DECLARE_ISA_TABLE(HalfLoops, half_loops)

constexpr bool is_half(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16;
}

// The bits are the same at every level.
inline WidenLoop widen_loop(DType from) {
  const HalfLoops loops = pick_half_loops();
  return from == DType::bf16 ? loops.widen_bf16 : loops.widen_f16;
}
inline NarrowLoop narrow_loop(DType to) {
  const HalfLoops loops = pick_half_loops();
  return to == DType::bf16 ? loops.narrow_bf16 : loops.narrow_f16;
}

}  // namespace plimsoll::ops
