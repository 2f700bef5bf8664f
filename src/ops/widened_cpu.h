// The CPU's answer for bf16 and f16 where a family has no kernel of its own for
// them: operands are widened into planned scratch, the f32 kernel runs, and
// its results are narrowed.
#pragma once

#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

// Whether anything is bf16 or f16, and so worth another try.
bool has_halves(const graph::KernelQuery& query);

// Candidates of the f32 form, with room for the copies; their names tell.
Result<std::vector<graph::KernelCandidate>> widened_candidates(
    const graph::KernelQuery& query, const CpuKernels& kernels,
    ComputeThreads& threads);

bool is_widened(const graph::KernelCandidate& candidate);
Result<std::unique_ptr<Kernel>> create_widened(
    const graph::KernelQuery& query, const graph::KernelCandidate& candidate,
    const CpuKernels& kernels, ComputeThreads& threads);

}  // namespace plimsoll::ops
