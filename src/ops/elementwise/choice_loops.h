// Element-wise loops that only choose among what they read: on bf16 and f16
// as they are stored, with the bits that widening, choosing and narrowing give.
#pragma once

#include "ops/elementwise/elementwise_loops.h"

namespace plimsoll::ops {

// By code; null where results are computed.
struct ChoiceLoops {
  ElementwiseLoop bf16[graph::kElementwiseCodes];
  ElementwiseLoop f16[graph::kElementwiseCodes];
};

PLIMSOLL_DECLARE_ISA_TABLE(const ChoiceLoops&, choice_loops)

}  // namespace plimsoll::ops
