// How fast large copies between host and device run, both ways.
#pragma once

#include "device/cuda_device.h"

namespace plimsoll::train {

struct CopyRates {
  double to_device_bytes_per_second = 0;
  double to_host_bytes_per_second = 0;
};

// Takes 64 MiB on both sides for the time it measures.
Result<CopyRates> measure_copies(CudaDevice& device);

}  // namespace plimsoll::train
