// What must stand in the environment before CUDA's driver starts.
#pragma once

#include <cstdlib>

namespace plimsoll {

// Before each cuInit(): the first one in a process decides. What the user has
// set stays.
inline void prepare_cuda_environment() {
  // The order that NVML and nvidia-smi have, not the fastest device first.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  // Code comes onto the device when it is first launched, not all at once.
  setenv("CUDA_MODULE_LOADING", "LAZY", 0);
}

}  // namespace plimsoll
