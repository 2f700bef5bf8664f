#include "train/cuda_profile.h"

#include <fmt/core.h>

#include <charconv>

#include "device/nvml/nvml.h"

namespace plimsoll::train {
namespace {

Result<GpuFacts> facts_of(const std::string& device) {
  PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(device));
  auto nvml = Nvml::open();
  if (!nvml) {
    return Error{ErrorCode::device,
                 fmt::format("{}: {}", device, nvml.error().message)};
  }
  PLIMSOLL_ASSIGN(auto devices, nvml->devices());
  const auto index = static_cast<std::size_t>(ordinal);
  if (index < devices.size()) return std::move(devices[index]);
  return Error{ErrorCode::device,
               fmt::format("{}: there is no such device; NVIDIA's driver shows "
                           "{}",
                           device, devices.size())};
}

}  // namespace

bool has_cuda_module() {
#ifdef PLIMSOLL_HAS_CUDA
  return true;
#else
  return false;
#endif
}

Result<int> cuda_ordinal(const std::string& device) {
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = -1;
  if (device.starts_with(kPrefix)) {
    const char* end = device.data() + device.size();
    const auto [stop, failure] =
        std::from_chars(device.data() + kPrefix.size(), end, ordinal);
    if (failure == std::errc() && stop == end && ordinal >= 0) return ordinal;
  }
  return Error{ErrorCode::bad_input,
               fmt::format("device {}: write cpu or cuda:0", device)};
}

Result<DeviceProfile> cuda_profile(const std::string& device) {
  PLIMSOLL_ASSIGN(const GpuFacts facts, facts_of(device));
  return Error{ErrorCode::device,
               fmt::format("{} ({}): this build has no CUDA module", device,
                           facts.name)};
}

Result<DeviceMemory> cuda_memory(const std::string& device) {
  PLIMSOLL_ASSIGN(const GpuFacts facts, facts_of(device));
  return DeviceMemory{facts.total_bytes, facts.free_bytes, facts.name};
}

}  // namespace plimsoll::train
