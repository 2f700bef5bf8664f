#include "cli/cuda_listing.h"

#include <fmt/core.h>

#include "base/units.h"
#include "device/nvml/visible_gpus.h"
#include "train/cuda_profile.h"

namespace plimsoll::cli {
namespace {

void add_missing(std::string_view what, CudaListing& cuda) {
  cuda.missing += fmt::format("{}{}", cuda.missing.empty() ? "" : "; ", what);
}

std::string copies_text(const std::optional<DeviceProfile>& profile) {
  if (!profile) return "not measured";
  return fmt::format("{:.1f} GB/s to the device, {:.1f} GB/s back",
                     profile->copy_to_device_bytes_per_second * 1e-9,
                     profile->copy_to_host_bytes_per_second * 1e-9);
}

}  // namespace

Result<CudaListing> list_cuda(
    const MeasuredProfile& measured,
    const std::optional<std::string>& device_memory_variable) {
  CudaListing cuda;
  cuda.built = train::has_cuda_module();
  const auto nvml = Nvml::open();
  const auto devices = nvml ? cuda_gpus(*nvml) : nvml.error();
  if (!devices) {
    add_missing(devices.error().message, cuda);
  } else if (devices->empty()) {
    add_missing("NVIDIA's driver shows no device to this process", cuda);
  } else {
    for (const auto& [facts, nvml_index] : *devices) {
      PLIMSOLL_ASSIGN(Budget budget,
                      resolve_device_budget(
                          {std::nullopt, device_memory_variable, std::nullopt},
                          {facts.total_bytes, facts.free_bytes, facts.name}));
      const std::string name = fmt::format("cuda:{}", cuda.devices.size());
      cuda.devices.push_back({facts, std::move(budget), measured(name)});
    }
  }
  if (!cuda.built) add_missing("this build has no CUDA module", cuda);
  return cuda;
}

std::string cuda_text(const CudaListing& cuda) {
  std::string text;
  int number = 0;
  for (const GpuListing& gpu : cuda.devices) {
    text += fmt::format("{:<9}{}, compute capability {}.{}\n",
                        fmt::format("cuda:{}", number++), gpu.facts.name,
                        gpu.facts.capability_major, gpu.facts.capability_minor);
    text += fmt::format("memory   {} total, {} free\n",
                        format_bytes(gpu.facts.total_bytes),
                        format_bytes(gpu.facts.free_bytes));
    text += fmt::format("budget   {} unless a job says less, from {}\n",
                        format_bytes(gpu.budget.bytes), gpu.budget.source);
    text += fmt::format("copies   {}\n", copies_text(gpu.profile));
  }
  if (!cuda.missing.empty()) text += fmt::format("cuda     {}\n", cuda.missing);
  return text;
}

}  // namespace plimsoll::cli
