// The GPUs of `plimsoll devices`, and what is missing to use them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device_profile.h"
#include "device/nvml/nvml.h"
#include "memory/budget.h"

namespace plimsoll::cli {

struct GpuListing {
  GpuFacts facts;
  Budget budget;                         // that would hold for a job
  std::optional<DeviceProfile> profile;  // empty: not measured
};

struct CudaListing {
  bool built = false;  // the module that talks to CUDA is in this build
  std::vector<GpuListing> devices;
  std::string missing;  // in words; empty: nothing
};

// A GPU's measured profile; nothing where it cannot be measured.
using MeasuredProfile =
    std::function<std::optional<DeviceProfile>(const std::string& device)>;

// Without a driver there are no devices, and `missing` says so; a wrong
// PLIMSOLL_DEVICE_MEMORY is an error.
Result<CudaListing> list_cuda(
    const MeasuredProfile& measured,
    const std::optional<std::string>& device_memory_variable);

std::string cuda_text(const CudaListing& cuda);

}  // namespace plimsoll::cli
