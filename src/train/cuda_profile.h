// A CUDA device as planning needs it: what is there, or what is missing.
#pragma once

#include <string>

#include "device/device_profile.h"
#include "memory/budget.h"

namespace plimsoll::train {

// Whether this build has the module that talks to CUDA.
bool has_cuda_module();

// The number in "cuda:1".
Result<int> cuda_ordinal(const std::string& device);

// Of a device that is here, such as "cuda:0". The error names what is missing:
// driver, device, or the module.
Result<DeviceProfile> cuda_profile(const std::string& device);
// Its memory as the driver shows it now.
Result<DeviceMemory> cuda_memory(const std::string& device);

}  // namespace plimsoll::train
