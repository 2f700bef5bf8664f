#include "plimsoll/config.h"

#include <fmt/core.h>

#include <map>
#include <mutex>

#include "base/environment.h"
#include "base/units.h"
#include "device/cpu/cpu_info.h"
#include "device/nvml/visible_gpus.h"
#include "train/cuda_profile.h"
#include "train/process_config.h"
#include "train/session_state.h"

namespace plimsoll {
namespace train {
namespace {

struct ProcessConfig {
  std::mutex mutex;
  std::map<std::string, DeviceConfig> devices;
  bool frozen = false;
};

ProcessConfig& process() {
  static ProcessConfig config;
  return config;
}

template <class Change>
void change(const std::string& device, const std::string& attempt,
            const Change& make) {
  ProcessConfig& config = process();
  const std::lock_guard lock(config.mutex);
  if (config.frozen) {
    throw_error({ErrorCode::bad_input,
                 attempt + ": pl::config must be set before the first session "
                           "of the process is opened"});
  }
  make(config.devices[device]);
}

Result<std::vector<VisibleGpu>> gpus() {
  PLIMSOLL_ASSIGN(const Nvml nvml, Nvml::open());
  return cuda_gpus(nvml);
}

// The memory of a device that is here.
DeviceMemory memory_of(const std::string& device) {
  if (device != "cpu") return value_or_throw(cuda_memory(device));
  const SystemMemory system = value_or_throw(read_system_memory());
  return {system.total_bytes, system.available_bytes, "cpu", std::nullopt};
}

std::vector<config::PhysicalDevice> all_devices() {
  const DeviceMemory host = memory_of("cpu");
  std::vector<config::PhysicalDevice> devices = {
      {"cpu", "cpu", read_cpu_info().brand, host.total_bytes,
       host.free_bytes.value_or(0)}};
  const auto found = gpus();
  if (!found) return devices;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const GpuFacts& gpu = (*found)[i].facts;
    devices.push_back({fmt::format("cuda:{}", i), "cuda", gpu.name,
                       gpu.total_bytes, gpu.free_bytes});
  }
  return devices;
}

// What a session without wishes of its own would get.
Budget budget_of(const config::PhysicalDevice& device) {
  const auto limit = configured(device.name).limit();
  if (device.kind != "cpu") {
    return value_or_throw(resolve_device_budget(
        {{}, environment_text("PLIMSOLL_DEVICE_MEMORY"), {}},
        {device.total_bytes, device.free_bytes, device.model, limit}));
  }
  SystemMemory system = value_or_throw(read_system_memory());
  if (limit) system.limits.push_back(*limit);
  return value_or_throw(resolve_host_budget(
      {{}, environment_text("PLIMSOLL_HOST_MEMORY"), {}}, system));
}

}  // namespace

DeviceConfig configured(const std::string& device) {
  ProcessConfig& config = process();
  const std::lock_guard lock(config.mutex);
  const auto found = config.devices.find(device);
  return found == config.devices.end() ? DeviceConfig() : found->second;
}

void freeze_config() {
  const std::lock_guard lock(process().mutex);
  process().frozen = true;
}

void reset_config() {
  const std::lock_guard lock(process().mutex);
  process().devices.clear();
  process().frozen = false;
}

}  // namespace train

namespace config {

std::vector<PhysicalDevice> list_physical_devices(const std::string& kind) {
  if (!kind.empty() && kind != "cpu" && kind != "cuda") {
    throw_error(
        {ErrorCode::bad_input,
         fmt::format("devices of kind \"{}\": there are cpu and cuda", kind)});
  }
  std::vector<PhysicalDevice> devices = train::all_devices();
  std::erase_if(devices, [&](const PhysicalDevice& device) {
    return !kind.empty() && device.kind != kind;
  });
  return devices;
}

std::vector<LogicalDevice> list_logical_devices(const std::string& kind) {
  std::vector<LogicalDevice> devices;
  for (const PhysicalDevice& device : list_physical_devices(kind)) {
    if (device.kind == "cuda" && !train::has_cuda_module()) continue;
    Budget budget = train::budget_of(device);
    devices.push_back({device, budget.bytes, std::move(budget.source),
                       train::configured(device.name).growth});
  }
  return devices;
}

std::string missing_cuda() {
  const auto found = train::gpus();
  if (!found) return found.error().message;
  if (found->empty()) return "NVIDIA's driver shows no device";
  return train::has_cuda_module() ? "" : "this build has no CUDA module";
}

void set_memory_growth(const std::string& device, bool growth) {
  train::memory_of(device);  // throws where there is no such device
  train::change(device,
                fmt::format("set_memory_growth(\"{}\", {})", device, growth),
                [&](train::DeviceConfig& config) { config.growth = growth; });
}

bool get_memory_growth(const std::string& device) {
  train::memory_of(device);
  return train::configured(device).growth;
}

void set_memory_limit(const std::string& device, const std::string& size) {
  const std::string attempt =
      fmt::format("set_memory_limit(\"{}\", \"{}\")", device, size);
  const auto bytes = parse_size(size, train::memory_of(device).total_bytes);
  if (!bytes) {
    throw_error({ErrorCode::bad_input, attempt + ": " + bytes.error().message});
  }
  train::change(device, attempt, [&](train::DeviceConfig& config) {
    config.limit_bytes = *bytes;
  });
}

}  // namespace config
}  // namespace plimsoll
