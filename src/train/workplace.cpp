#include "train/workplace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "device/cuda_device.h"
#include "device/shipped_profiles.h"
#include "ops/cuda_kernels.h"
#include "train/calibration.h"
#include "train/cuda_profile.h"
#include "train/process_config.h"

namespace plimsoll::train {
namespace {

// The CPU has no memory of its own, but a wrong size is wrong all the same.
Status check_device_memory(const JobSpec& job, const RunOptions& options) {
  const std::pair<const char*, const std::optional<std::string>*> said[] = {
      {"--device-memory", &options.device_memory_flag},
      {"PLIMSOLL_DEVICE_MEMORY", &options.device_memory_env},
      {"memory.device", &job.memory.device}};
  for (const auto& [name, text] : said) {
    if (!text->has_value() || (*text)->empty()) continue;
    if (const auto size = parse_size(**text, kGiB); !size) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: {}", name, size.error().message)};
    }
  }
  return {};
}

// A device with memory of its own; the CPU is none.
struct TargetDevice {
  DeviceProfile profile;
  DeviceMemory memory;
  LibraryMeasure library_measure;
};

// A shipped profile stands for a device that need not be here.
Result<std::optional<TargetDevice>> target_of(const JobSpec& job,
                                              const RunOptions& options,
                                              int threads) {
  if (options.device_profile) {
    PLIMSOLL_ASSIGN(DeviceProfile profile,
                    shipped_profile(*options.device_profile));
    DeviceMemory memory{profile.total_memory_bytes, std::nullopt,
                        *options.device_profile, std::nullopt};
    return std::optional(
        TargetDevice{std::move(profile), std::move(memory), {}});
  }
  if (options.device == "cpu") return std::optional<TargetDevice>();
  const CudaProfileRequest request{
      options.device, job.train.precision,
      threads,        options.rehearsal ? "" : options.calibrator,
      job.train.tf32, job.memory.pinned};
  TargetDevice target;
  PLIMSOLL_ASSIGN(target.profile, cuda_profile(request));
  PLIMSOLL_ASSIGN(target.memory, cuda_memory(options.device));
  PLIMSOLL_ASSIGN(target.library_measure, cuda_library_measure(request));
  return std::optional(std::move(target));
}

// A library's process is more than the one the device's figures were taken in;
// without a program for it, kernels are compiled here (seen: 150 MiB).
std::int64_t host_beside_library(const DeviceProfile& cpu,
                                 const RunOptions& options) {
  constexpr std::int64_t kCompilerBytes = 192 * kMiB;
  return cpu.runtime_floor_bytes +
         (options.compiler.empty() ? kCompilerBytes : 0);
}

Status set_device_budget(const JobSpec& job, const RunOptions& options,
                         const DeviceMemory& memory, Workplace& place) {
  PLIMSOLL_ASSIGN(
      place.device_budget,
      resolve_device_budget({options.device_memory_flag,
                             options.device_memory_env, job.memory.device},
                            memory));
  place.device_most_bytes = memory.free_bytes.value_or(memory.total_bytes);
  if (memory.limit) {
    place.device_most_bytes =
        std::min(place.device_most_bytes, memory.limit->bytes);
  }
  return {};
}

// A plan for a device that is not here takes the library to be there.
bool has_library_layers(const RunOptions& options,
                        const DeviceProfile& device) {
  if (!ops::suits_library_layers(device)) return false;
  if (options.device_profile) return true;
  const auto module = open_cuda_module();
  const auto version = module ? (*module)->layer_library_version()
                              : Result<std::string>(module.error());
  // The oldest that was seen to have the engines.
  constexpr std::pair kLeast = {9, 14};
  std::pair<int, int> found;
  return version &&
         std::sscanf(version->c_str(), "%d.%d", &found.first, &found.second) ==
             2 &&
         found >= kLeast;
}

}  // namespace

Result<Workplace> open_workplace(const JobSpec& job,
                                 const RunOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(check_device_memory(job, options));
  Workplace place;
  PLIMSOLL_ASSIGN(place.system, read_system_memory());
  if (const auto limit = configured("cpu").limit()) {
    place.system.limits.push_back(*limit);
  }
  PLIMSOLL_ASSIGN(place.budget, resolve_host_budget(
                                    {options.host_memory_flag,
                                     options.host_memory_env, job.memory.host},
                                    place.system));
  PLIMSOLL_ASSIGN(DeviceProfile profile,
                  cpu_profile(options.threads, options.calibrator));
  PLIMSOLL_ASSIGN(auto target, target_of(job, options, profile.threads));
  if (target && options.calibrator.empty() && !options.rehearsal) {
    target->profile.host_floor_bytes += host_beside_library(profile, options);
  }
  // A job's own word is about the device it trains on.
  place.host_growth =
      configured("cpu").growth && (target.has_value() || job.memory.growth);
  place.device_growth =
      job.memory.growth &&
      (!target || options.device_profile || configured(options.device).growth);
  // What the line leaves beside the process itself; the allowance covers a
  // small graph at the tightest budget.
  const std::int64_t room = place.budget.bytes - profile.runtime_floor_bytes;
  if (!target && job.train.tf32) {
    return Error{ErrorCode::bad_input,
                 "train.tf32: the CPU has no such products; train with "
                 "--device cuda:0, or leave it out"};
  }
  if (target) {
    PLIMSOLL_RETURN_IF_ERROR(
        set_device_budget(job, options, target->memory, place));
    const ops::CudaSettings settings{
        .tf32 = job.train.tf32,
        .library_layers = has_library_layers(options, target->profile)};
    place.machine = std::make_unique<Machine>(
        std::move(profile), std::move(target->profile), settings);
    place.machine->set_library_measure(std::move(target->library_measure));
    place.machine->set_pins_memory(job.memory.pinned);
    if (!options.device_profile) place.machine->set_home(options.device);
  } else {
    place.machine = std::make_unique<Machine>(std::move(profile));
  }
  place.machine->set_planning_cap(std::max(room, kAllowanceBytes));
  return place;
}

}  // namespace plimsoll::train
