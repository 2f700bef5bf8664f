// Makes values again in backward instead of keeping them.
#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "graph/kernel_catalog.h"

namespace plimsoll::graph {

struct RecomputeLimits {
  double share_of_seconds = 0;   // of the step's, by the kernels' estimates
  std::int64_t least_bytes = 0;  // that a value must have
  // More, for what is made from parameters alone: their casts to 16 bits.
  double share_for_parameters = 0;
};

// What steps are planned with: a few hundredths of their time make again what
// would take several of their memory.
inline constexpr RecomputeLimits kMadeAgain = {0.03, 256 << 10};
// On the CPU batches are small beside parameters, whose casts then are much of
// what is kept and little of the step.
inline constexpr RecomputeLimits kMadeAgainOnCpu = {0.03, 256 << 10, 0.03};

// Of an optimised graph at one batch: values that one or two nodes make from
// what is kept anyway (a convolution of 1 x 1, relu of a normalization, a
// parameter's cast) are made again right before backward first reads them, most
// bytes a second first. The same nodes on the same values: the same bits.
Graph recompute(const Graph& graph, std::int64_t batch,
                const KernelCatalog& catalog, const RecomputeLimits& limits);

}  // namespace plimsoll::graph
