// A weights' gradient in f32 of bf16 or f16 where cuDNN offers no engine for
// it: the library's result, rounded to 16 bits, is widened by a kernel of ours.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/cuda/cudnn_work.h"

namespace plimsoll::cuda {

using KernelLoader = std::function<Result<CudaKernel*>(const std::string&)>;

Result<std::unique_ptr<CudaWork>> make_widened_convolution(
    CudnnWork& library, const Convolution& convolution,
    const KernelLoader& load);

}  // namespace plimsoll::cuda
