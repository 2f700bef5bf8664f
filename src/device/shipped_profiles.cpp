#include "device/shipped_profiles.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

#include "base/units.h"

namespace plimsoll {
namespace {

// Vendors' figures: dense rates without sparsity, in 10^12 operations a
// second; bandwidths in 10^9 bytes a second; memory as the driver shows it.
struct Figures {
  std::string_view name;
  std::string_view device;
  std::string_view instruction_set;
  std::int64_t total_bytes;
  double f64;
  double f32;
  double tf32;
  double bf16;  // 0: no such units
  double f16;
  double memory;
  double copy;  // either way, what large copies reach
  // Context, modules and libraries before any job.
  std::int64_t runtime_floor_bytes;
};

// Floors with stack, heap and printf buffers at their least: the h200's is what
// was measured (driver 580, CUDA 13: 330 MiB), rounded up; the others are
// estimates from above.
constexpr std::array<Figures, 5> kFigures = {{
    {"h200", "NVIDIA H200", "sm_90", 150754820096, 67, 67, 494, 989, 989, 4800,
     55, 336 * kMiB},
    {"a100-80", "NVIDIA A100 80GB", "sm_80", 81920 * kMiB, 19.5, 19.5, 156, 312,
     312, 2039, 25, 480 * kMiB},
    {"l4", "NVIDIA L4", "sm_89", 23034 * kMiB, 0.47, 30.3, 60, 121, 121, 300,
     25, 320 * kMiB},
    {"t4", "NVIDIA T4", "sm_75", 15360 * kMiB, 0.25, 8.1, 8.1, 0, 65, 320, 12,
     200 * kMiB},
    {"rtx4090", "NVIDIA GeForce RTX 4090", "sm_89", 24564 * kMiB, 1.29, 82.6,
     82.6, 165, 165, 1008, 25, 420 * kMiB},
}};

// What mapping in whole granules and the driver's own tables can add.
constexpr std::int64_t kAllowanceBytes = 16 * kMiB;
// The host process with the driver in use, and what the library of products
// adds: measured beside an H200 (293 and 114 MiB), rounded up.
constexpr std::int64_t kHostFloorBytes = 304 * kMiB;
constexpr std::int64_t kHostProductBytes = 128 * kMiB;
// Of the library of layers: 346 and 26 MiB, with ResNet-50's convolutions in
// bf16; on the device 52 with batch normalization of 8,192 channels.
constexpr std::int64_t kHostConvolutionBytes = 384 * kMiB;
constexpr std::int64_t kDeviceConvolutionBytes = 56 * kMiB;
// Of code and recordings on the device, for each instruction: an estimate from
// above.
constexpr std::int64_t kDeviceInstructionBytes = 8 * kKiB;
constexpr double kLaunchSeconds = 3e-6;

DeviceProfile profile_of(const Figures& figures) {
  DeviceProfile profile;
  profile.name = figures.device;
  profile.kind = "cuda";
  profile.instruction_set = figures.instruction_set;
  profile.f64_flops_per_second = figures.f64 * 1e12;
  profile.f32_flops_per_second = figures.f32 * 1e12;
  profile.tf32_flops_per_second = figures.tf32 * 1e12;
  profile.bf16_flops_per_second = figures.bf16 * 1e12;
  profile.f16_flops_per_second = figures.f16 * 1e12;
  profile.memory_bytes_per_second = figures.memory * 1e9;
  profile.copy_to_device_bytes_per_second = figures.copy * 1e9;
  profile.copy_to_host_bytes_per_second = figures.copy * 1e9;
  profile.launch_seconds = kLaunchSeconds;
  profile.total_memory_bytes = figures.total_bytes;
  profile.alignment_bytes = 256;
  profile.granularity_bytes = 2 * kMiB;
  profile.runtime_floor_bytes = figures.runtime_floor_bytes;
  profile.host_floor_bytes = kHostFloorBytes;
  profile.host_product_bytes = kHostProductBytes;
  profile.host_convolution_bytes = kHostConvolutionBytes;
  profile.device_convolution_bytes = kDeviceConvolutionBytes;
  profile.device_instruction_bytes = kDeviceInstructionBytes;
  profile.allowance_bytes = kAllowanceBytes;
  profile.measured = false;
  return profile;
}

}  // namespace

Result<DeviceProfile> shipped_profile(const std::string& name) {
  std::string names;
  for (const Figures& figures : kFigures) {
    if (figures.name == name) return profile_of(figures);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", figures.name);
  }
  return Error{
      ErrorCode::bad_input,
      fmt::format("no device profile `{}`; there are {}", name, names)};
}

DeviceProfile shipped_profile_for(std::string_view device) {
  const Figures* slowest = &kFigures[0];
  const Figures* heaviest = &kFigures[0];
  for (const Figures& figures : kFigures) {
    if (device.starts_with(figures.device)) return profile_of(figures);
    if (figures.memory < slowest->memory) slowest = &figures;
    if (figures.runtime_floor_bytes > heaviest->runtime_floor_bytes) {
      heaviest = &figures;
    }
  }
  DeviceProfile careful = profile_of(*slowest);
  careful.runtime_floor_bytes = heaviest->runtime_floor_bytes;
  return careful;
}

}  // namespace plimsoll
