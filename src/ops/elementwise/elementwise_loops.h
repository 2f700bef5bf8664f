// The inner loops of the element-wise kernel, compiled for each instruction
// set and chosen once by asking the processor.
#pragma once

#include <cstdint>

#include "graph/elementwise.h"
#include "ops/isa.h"

namespace plimsoll::ops {

// out[i] = code(a[i], b[i], c[i]; scalar) for i in [0, count). `out` may be
// one of the operands itself, never overlap them otherwise.
using ElementwiseLoop = void (*)(const void* a, const void* b, const void* c,
                                 void* out, double scalar, std::int64_t count);

struct ElementwiseLoops {
  ElementwiseLoop f32[graph::kElementwiseCodes];
  ElementwiseLoop f64[graph::kElementwiseCodes];
};

PLIMSOLL_DECLARE_ISA_TABLE(const ElementwiseLoops&, elementwise_loops)

}  // namespace plimsoll::ops
