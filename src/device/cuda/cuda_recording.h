// Enqueued work as a CUDA graph.
#pragma once

#include "device/cuda_device.h"

namespace plimsoll::cuda {

// Captures what `work` enqueues, and brings the executable graph to the
// device, so that its first launch is like any other.
Result<std::unique_ptr<CudaRecording>> record_graph(
    Stream& stream, const std::function<Status()>& work);

}  // namespace plimsoll::cuda
