// The GPUs as CUDA numbers them for this process. NVML numbers all that are
// there; CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change CUDA's numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/nvml/nvml.h"

namespace plimsoll {

// As CUDA tells it.
struct GpuIdentity {
  std::string uuid;        // "GPU-01234567-89ab-cdef-0123-456789abcdef"
  std::string pci_bus_id;  // "0000:3b:00.0"; empty: not told
};

std::string gpu_uuid_text(const std::array<std::uint8_t, 16>& bytes);

// Which of NVML's devices it is: by uuid, else (part of a GPU has a uuid of
// its own) by the bus. Domains are written with four digits or with eight.
std::optional<std::size_t> find_gpu(const GpuIdentity& wanted,
                                    const std::vector<GpuFacts>& devices);

// In CUDA's order, by the driver, which takes no context for it. Tests give
// their own library.
Result<std::vector<GpuIdentity>> visible_gpus(
    const std::string& library = "libcuda.so.1");

// One of them as NVML knows it.
struct VisibleGpu {
  GpuFacts facts;
  int nvml_index = 0;
};
// Number i is "cuda:i".
Result<std::vector<VisibleGpu>> cuda_gpus(const Nvml& nvml);
// The error says how many there are.
Result<VisibleGpu> cuda_gpu(const Nvml& nvml, int ordinal);

}  // namespace plimsoll
