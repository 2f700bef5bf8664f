// Convolutions by oneDNN: images as they lie, weights in the layout that the
// library's implementation likes best.
#pragma once

#include <memory>

#include "ops/convolution/conv_shape.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

// Empty where the library has no implementation that keeps to its scratch.
std::vector<graph::KernelCandidate> onednn_conv_candidates(
    const ConvShape& shape, ConvPass pass, DType dtype,
    ComputeThreads& threads);
bool is_onednn_conv(const graph::KernelCandidate& candidate);
Result<std::unique_ptr<Kernel>> make_onednn_conv(
    const ConvShape& shape, ConvPass pass, DType dtype,
    const graph::KernelCandidate& candidate, ComputeThreads& threads);

}  // namespace plimsoll::ops
