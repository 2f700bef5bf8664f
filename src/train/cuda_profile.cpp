#include "train/cuda_profile.h"

#include <fmt/core.h>

#include "device/cuda_device.h"
#include "device/device_name.h"
#include "device/nvml/visible_gpus.h"
#include "device/shipped_profiles.h"
#include "train/device_calibration.h"
#include "train/process_config.h"
#include "train/profile_cache.h"
#include "train/work_rehearsal.h"

namespace plimsoll::train {
namespace {

Result<GpuFacts> facts_of(const std::string& device) {
  PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(device));
  auto nvml = Nvml::open();
  if (!nvml) {
    return Error{ErrorCode::device,
                 fmt::format("{}: {}", device, nvml.error().message)};
  }
  PLIMSOLL_ASSIGN(VisibleGpu gpu, cuda_gpu(*nvml, ordinal));
  return std::move(gpu.facts);
}

// By the vendor's figures where the device is known, else careful ones.
DeviceProfile estimated_profile(const GpuFacts& facts) {
  DeviceProfile profile = shipped_profile_for(facts.name);
  profile.name = facts.name;
  profile.instruction_set =
      fmt::format("sm_{}{}", facts.capability_major, facts.capability_minor);
  profile.total_memory_bytes = facts.total_bytes;
  return profile;
}

// Everything that changes what a process with the device costs.
Result<std::string> key_of(const CudaProfileRequest& request,
                           const GpuFacts& facts) {
  PLIMSOLL_ASSIGN(const Nvml nvml, Nvml::open());
  std::string key =
      fmt::format("{} {} {}", program_identity(request.calibrator), facts.uuid,
                  nvml.driver_version());
  for (const std::string& file : cuda_module_files()) {
    key += fmt::format(" {}={}", file, program_identity(file));
  }
  return key;
}

}  // namespace

bool has_cuda_module() {
#ifdef PLIMSOLL_HAS_CUDA
  return true;
#else
  return false;
#endif
}

Result<LibraryMeasure> cuda_library_measure(const CudaProfileRequest& request) {
  if (request.calibrator.empty()) return LibraryMeasure();
  PLIMSOLL_ASSIGN(const GpuFacts facts, facts_of(request.device));
  PLIMSOLL_ASSIGN(std::string key, key_of(request, facts));
  return library_measure_by(request.calibrator, request.device, std::move(key));
}

Result<DeviceProfile> cuda_profile(const CudaProfileRequest& request) {
  PLIMSOLL_ASSIGN(const GpuFacts facts, facts_of(request.device));
  if (!has_cuda_module()) {
    return Error{ErrorCode::device,
                 fmt::format("{} ({}): this build has no CUDA module",
                             request.device, facts.name)};
  }
  DeviceProfile profile = estimated_profile(facts);
  if (request.calibrator.empty()) return profile;
  PLIMSOLL_ASSIGN(std::string key, key_of(request, facts));
  key += fmt::format(" {} {} tf32={} pinned={}", name_of(request.precision),
                     request.threads, request.tf32, request.pinned);
  return cached_profile("cuda", key, [&]() -> Result<DeviceProfile> {
    Rehearsal rehearsal;
    rehearsal.device = request.device;
    rehearsal.precision = request.precision;
    rehearsal.threads = request.threads;
    rehearsal.tf32 = request.tf32;
    rehearsal.pinned = request.pinned;
    PLIMSOLL_RETURN_IF_ERROR(
        calibrate_device(request.calibrator, rehearsal, profile));
    PLIMSOLL_ASSIGN(const Nvml nvml, Nvml::open());
    profile.library_versions["driver"] = nvml.driver_version();
    return profile;
  });
}

Result<DeviceMemory> cuda_memory(const std::string& device) {
  PLIMSOLL_ASSIGN(const GpuFacts facts, facts_of(device));
  return DeviceMemory{facts.total_bytes, facts.free_bytes, facts.name,
                      configured(device).limit()};
}

}  // namespace plimsoll::train
