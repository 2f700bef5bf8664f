// The CPU kernel of every op that only moves boxes of bytes.
#pragma once

#include <memory>

#include "ops/kernel.h"
#include "ops/movement/strided_move.h"

namespace plimsoll {
class ComputeThreads;  // device/cpu/compute_threads.h
}

namespace plimsoll::ops {

graph::KernelCandidate move_candidate(const graph::KernelQuery& query,
                                      const Moves& moves,
                                      const ComputeThreads& threads);
std::unique_ptr<Kernel> make_move_kernel(Moves moves, ComputeThreads& threads);

}  // namespace plimsoll::ops
