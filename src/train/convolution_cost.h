// What the library of convolutions costs once a job uses it.
#pragma once

#include "device/cuda_device.h"
#include "train/device_meter.h"

namespace plimsoll::train {

struct ConvolutionCost {
  std::int64_t host_bytes = 0;
  std::int64_t device_bytes = 0;
};

// Runs layers of the kinds that networks have, in a process that has run none:
// each brings kernels of its own into memory. Takes up to 256 MiB of the
// device for the time it measures. Nothing of the precision's is the
// library's: costs nothing.
Result<ConvolutionCost> measure_convolutions(CudaDevice& device,
                                             DeviceMeter& meter,
                                             DType precision, bool tf32);

}  // namespace plimsoll::train
