#include "device/nvml/visible_gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "device/cuda_environment.h"

namespace plimsoll {
namespace {

// The few declarations of cuda.h that are used here: it comes with the
// toolkit, the library with the driver.
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
struct Calls {
  int (*init)(unsigned int flags) = nullptr;
  int (*count)(int* count) = nullptr;
  int (*get)(int* device, int ordinal) = nullptr;
  int (*uuid)(unsigned char* bytes, int device) = nullptr;
  int (*bus)(char* text, int length, int device) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Error failed(const char* call, int code) {
  return {ErrorCode::device, fmt::format("{}: error {}", call, code)};
}

// "GPU-" of a whole one, "MIG-" of a part.
std::string_view digits_of(std::string_view uuid) {
  return uuid.substr(std::min(uuid.find('-'), uuid.size()));
}

// Domain, bus and device; empty where the text is none.
std::optional<std::array<unsigned int, 3>> address_of(std::string_view text) {
  std::array<unsigned int, 3> address{};
  for (unsigned int& part : address) {
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, part, 16);
    if (failure != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return address;
}

Result<GpuIdentity> identity_of(const Calls& calls, int ordinal) {
  int device = 0;
  if (const int code = calls.get(&device, ordinal)) {
    return failed("cuDeviceGet", code);
  }
  std::array<std::uint8_t, 16> uuid{};
  if (const int code = calls.uuid(uuid.data(), device)) {
    return failed("cuDeviceGetUuid", code);
  }
  GpuIdentity identity{gpu_uuid_text(uuid), {}};
  std::array<char, 32> bus{};
  if (calls.bus(bus.data(), static_cast<int>(bus.size()) - 1, device) ==
      kSuccess) {
    identity.pci_bus_id = bus.data();
  }
  return identity;
}

}  // namespace

std::string gpu_uuid_text(const std::array<std::uint8_t, 16>& bytes) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || (i >= 4 && i <= 10 && i % 2 == 0)) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::optional<std::size_t> find_gpu(const GpuIdentity& wanted,
                                    const std::vector<GpuFacts>& devices) {
  const auto found = [&](auto&& same) -> std::optional<std::size_t> {
    const auto at = std::find_if(devices.begin(), devices.end(), same);
    if (at == devices.end()) return std::nullopt;
    return static_cast<std::size_t>(at - devices.begin());
  };
  const auto by_uuid = found([&](const GpuFacts& facts) {
    return digits_of(facts.uuid) == digits_of(wanted.uuid);
  });
  const auto address = address_of(wanted.pci_bus_id);
  if (by_uuid || !address) return by_uuid;
  return found([&](const GpuFacts& facts) {
    return address_of(facts.pci_bus_id) == address;
  });
}

Result<std::vector<GpuIdentity>> visible_gpus(const std::string& name) {
  // Never closed: the driver does not go away cleanly.
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorCode::device,
                 fmt::format("no NVIDIA driver: {} cannot be opened ({})", name,
                             dlerror())};
  }
  Calls calls;
  if (!find(library, "cuInit", calls.init) ||
      !find(library, "cuDeviceGetCount", calls.count) ||
      !find(library, "cuDeviceGet", calls.get) ||
      !find(library, "cuDeviceGetUuid_v2", calls.uuid) ||
      !find(library, "cuDeviceGetPCIBusId", calls.bus)) {
    return Error{ErrorCode::device,
                 fmt::format("the NVIDIA driver is too old: {} lacks functions "
                             "({})",
                             name, dlerror())};
  }
  prepare_cuda_environment();
  std::vector<GpuIdentity> gpus;
  const int started = calls.init(0);
  if (started == kNoDevice) return gpus;
  if (started != kSuccess) return failed("cuInit", started);
  int count = 0;
  if (const int code = calls.count(&count)) {
    return failed("cuDeviceGetCount", code);
  }
  for (int i = 0; i < count; ++i) {
    PLIMSOLL_ASSIGN(GpuIdentity identity, identity_of(calls, i));
    gpus.push_back(std::move(identity));
  }
  return gpus;
}

Result<std::vector<VisibleGpu>> cuda_gpus(const Nvml& nvml) {
  PLIMSOLL_ASSIGN(const auto devices, nvml.devices());
  PLIMSOLL_ASSIGN(const auto identities, visible_gpus());
  std::vector<VisibleGpu> gpus;
  for (const GpuIdentity& identity : identities) {
    const auto index = find_gpu(identity, devices);
    if (!index) {
      return Error{ErrorCode::device,
                   fmt::format("cuda:{} ({}) is not among the GPUs that NVML "
                               "shows",
                               gpus.size(), identity.uuid)};
    }
    gpus.push_back({devices[*index], static_cast<int>(*index)});
  }
  return gpus;
}

Result<VisibleGpu> cuda_gpu(const Nvml& nvml, int ordinal) {
  PLIMSOLL_ASSIGN(auto gpus, cuda_gpus(nvml));
  const auto index = static_cast<std::size_t>(ordinal);
  if (ordinal >= 0 && index < gpus.size()) return std::move(gpus[index]);
  return Error{ErrorCode::device,
               fmt::format("cuda:{}: there is no such device; NVIDIA's driver "
                           "shows {} to this process",
                           ordinal, gpus.size())};
}

}  // namespace plimsoll
