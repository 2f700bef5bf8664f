#pragma once

#include <cstdlib>
#include <string>

#include "device/cuda_device.h"
#include "train/cuda_profile.h"

namespace plimsoll::train::testing {

// Why a test for GPUs is skipped here; empty: it is not.
inline std::string missing_gpu() {
  // An emulated one's own reason.
  if (const char* why = std::getenv("FAKE_CUDA_SKIPS")) return why;
  if (const auto memory = cuda_memory("cuda:0"); !memory) {
    return "needs a GPU: " + memory.error().message;
  }
  if (const auto module = open_cuda_module(); !module) {
    return "needs a GPU: " + module.error().message;
  }
  return {};
}

}  // namespace plimsoll::train::testing
