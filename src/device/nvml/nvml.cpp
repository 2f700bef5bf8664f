#include "device/nvml/nvml.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "device/nvml/nvml_api.h"

namespace plimsoll {
namespace {

// Far more than share a GPU; see process_bytes().
constexpr std::size_t kProcessesAtFirst = 64;

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct Nvml::Impl {
  void* library = nullptr;
  bool initialized = false;
  nvml::Init* init = nullptr;
  nvml::Shutdown* shutdown = nullptr;
  nvml::ErrorString* error_string = nullptr;
  nvml::SystemGetDriverVersion* driver_version = nullptr;
  nvml::DeviceGetCount* count = nullptr;
  nvml::DeviceGetHandleByIndex* handle = nullptr;
  nvml::DeviceGetText* name = nullptr;
  nvml::DeviceGetText* uuid = nullptr;
  nvml::DeviceGetPciInfo* pci = nullptr;
  nvml::DeviceGetMemoryInfo* memory = nullptr;
  nvml::DeviceGetCudaComputeCapability* capability = nullptr;
  nvml::DeviceGetComputeRunningProcesses* processes = nullptr;
  std::vector<nvml::Device> handles;
  std::vector<nvml::ProcessInfo> running;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (initialized) shutdown();
    if (library != nullptr) dlclose(library);
  }

  bool find_all() {
    return find(library, "nvmlInit_v2", init) &&
           find(library, "nvmlShutdown", shutdown) &&
           find(library, "nvmlErrorString", error_string) &&
           find(library, "nvmlSystemGetDriverVersion", driver_version) &&
           find(library, "nvmlDeviceGetCount_v2", count) &&
           find(library, "nvmlDeviceGetHandleByIndex_v2", handle) &&
           find(library, "nvmlDeviceGetName", name) &&
           find(library, "nvmlDeviceGetUUID", uuid) &&
           find(library, "nvmlDeviceGetPciInfo_v3", pci) &&
           find(library, "nvmlDeviceGetMemoryInfo", memory) &&
           find(library, "nvmlDeviceGetCudaComputeCapability", capability) &&
           find(library, "nvmlDeviceGetComputeRunningProcesses_v3", processes);
  }

  Error failed(const char* what, nvml::Return code) const {
    return {ErrorCode::device,
            fmt::format("NVML cannot {}: {}", what, error_string(code))};
  }

  Status find_devices() {
    unsigned int devices = 0;
    if (const auto code = count(&devices); code != nvml::kSuccess) {
      return failed("count the GPUs", code);
    }
    handles.resize(devices);
    for (unsigned int i = 0; i < devices; ++i) {
      if (const auto code = handle(i, &handles[i]); code != nvml::kSuccess) {
        return failed("open a GPU", code);
      }
    }
    return {};
  }

  bool has(int device) const {
    return device >= 0 && static_cast<std::size_t>(device) < handles.size();
  }

  Result<GpuFacts> facts_of(nvml::Device device) const {
    GpuFacts facts;
    std::array<char, 96> text{};
    const auto length = static_cast<unsigned int>(text.size());
    if (const auto code = name(device, text.data(), length)) {
      return failed("name a GPU", code);
    }
    facts.name = text.data();
    if (const auto code = uuid(device, text.data(), length)) {
      return failed("identify a GPU", code);
    }
    facts.uuid = text.data();
    nvml::PciInfo place{};
    // Only where the uuid does not tell: not to be had is no error.
    if (!pci(device, &place)) facts.pci_bus_id = place.bus_id;
    nvml::Memory held{};
    if (const auto code = memory(device, &held)) {
      return failed("read a GPU's memory", code);
    }
    facts.total_bytes = static_cast<std::int64_t>(held.total);
    facts.free_bytes = static_cast<std::int64_t>(held.free);
    facts.used_bytes = static_cast<std::int64_t>(held.used);
    if (const auto code = capability(device, &facts.capability_major,
                                     &facts.capability_minor)) {
      return failed("read a GPU's compute capability", code);
    }
    return facts;
  }
};

Nvml::Nvml(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Nvml::~Nvml() = default;
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

Result<Nvml> Nvml::open(const std::string& library) {
  auto impl = std::make_unique<Impl>();
  impl->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (impl->library == nullptr) {
    const char* why = dlerror();
    return Error{ErrorCode::device,
                 fmt::format("no NVIDIA driver: {} cannot be opened ({})",
                             library, why != nullptr ? why : "unknown")};
  }
  if (!impl->find_all()) {
    return Error{ErrorCode::device,
                 fmt::format("the NVIDIA driver is too old: {} lacks functions "
                             "({})",
                             library, dlerror())};
  }
  if (const auto code = impl->init(); code != nvml::kSuccess) {
    return impl->failed("start", code);
  }
  impl->initialized = true;
  PLIMSOLL_RETURN_IF_ERROR(impl->find_devices());
  return Nvml(std::move(impl));
}

std::string Nvml::driver_version() const {
  std::array<char, 80> text{};
  const auto length = static_cast<unsigned int>(text.size());
  if (impl_->driver_version(text.data(), length) != nvml::kSuccess) return {};
  return text.data();
}

Result<std::vector<GpuFacts>> Nvml::devices() const {
  std::vector<GpuFacts> all;
  for (const nvml::Device device : impl_->handles) {
    PLIMSOLL_ASSIGN(GpuFacts facts, impl_->facts_of(device));
    all.push_back(std::move(facts));
  }
  return all;
}

std::optional<std::int64_t> Nvml::process_bytes(int device, pid_t process) {
  const auto count = processes(device);
  if (!count) return std::nullopt;
  // One entry for each context of the process.
  std::optional<std::int64_t> bytes;
  for (int i = 0; i < *count; ++i) {
    const nvml::ProcessInfo& entry =
        impl_->running[static_cast<std::size_t>(i)];
    if (entry.pid != static_cast<unsigned int>(process)) continue;
    if (entry.used_gpu_memory == nvml::kNotAvailable) return std::nullopt;
    bytes =
        bytes.value_or(0) + static_cast<std::int64_t>(entry.used_gpu_memory);
  }
  return bytes;
}

std::optional<int> Nvml::processes(int device) {
  if (!impl_->has(device)) return std::nullopt;
  std::vector<nvml::ProcessInfo>& running = impl_->running;
  if (running.empty()) running.resize(kProcessesAtFirst);
  unsigned int count = 0;
  nvml::Return code = nvml::kInsufficientSize;
  // Processes may come between two calls: not tried for ever.
  for (int attempt = 0; attempt < 4; ++attempt) {
    count = static_cast<unsigned int>(running.size());
    code = impl_->processes(impl_->handles[static_cast<std::size_t>(device)],
                            &count, running.data());
    if (code != nvml::kInsufficientSize) break;
    running.resize(2 * std::max<std::size_t>(count, running.size()));
  }
  if (code != nvml::kSuccess) return std::nullopt;
  return static_cast<int>(count);
}

std::optional<std::int64_t> Nvml::used_bytes(int device) const {
  if (!impl_->has(device)) return std::nullopt;
  nvml::Memory held{};
  if (impl_->memory(impl_->handles[static_cast<std::size_t>(device)], &held) !=
      nvml::kSuccess) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(held.used);
}

}  // namespace plimsoll
