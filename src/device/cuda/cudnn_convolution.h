// Convolutions by cuDNN, which is opened by name when a job first needs it. The
// engine is chosen once, by the library's own heuristic, within the workspace
// that the plan gives: one that gives the same bits each time.
#pragma once

#include "device/cuda_device.h"

struct cudnnContext;

namespace plimsoll::cuda {

using CudnnHandle = cudnnContext*;

// In the context that this thread has entered.
Result<CudnnHandle> open_cudnn();
// Null is none.
void close_cudnn(CudnnHandle handle);

Result<std::unique_ptr<CudaWork>> make_cudnn_convolution(
    CudnnHandle handle, const Convolution& convolution);

// "9.19.0"; opens the library.
Result<std::string> cudnn_version();

}  // namespace plimsoll::cuda
