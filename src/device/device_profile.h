// What planning knows of a device: rates, grain, and what its runtime costs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace plimsoll {

struct DeviceProfile {
  std::string name;             // "Intel(R) Xeon(R) ...", "H200"
  std::string kind;             // "cpu", "cuda", "null"
  std::string instruction_set;  // "avx512", "sm_90", ...
  int threads = 1;
  std::map<std::string, std::string> library_versions;

  double f32_flops_per_second = 0;
  double f64_flops_per_second = 0;
  double tf32_flops_per_second = 0;
  double bf16_flops_per_second = 0;
  double f16_flops_per_second = 0;
  double memory_bytes_per_second = 0;
  double copy_to_device_bytes_per_second = 0;
  double copy_to_host_bytes_per_second = 0;
  double launch_seconds = 0;  // of a kernel that does nothing

  std::int64_t total_memory_bytes = 0;    // of its own; 0: the host's
  std::int64_t alignment_bytes = 64;      // of every buffer
  std::int64_t granularity_bytes = 4096;  // of every mapping

  // Before any job: the process; on a device with memory of its own, what the
  // driver holds there for it.
  std::int64_t runtime_floor_bytes = 0;
  // The host's process when it drives such a device, and what the libraries of
  // matrix products and of layers (its convolutions) add to it once a job uses
  // them; the latter on the device too. Of the CPU: its own library's code for
  // convolutions.
  std::int64_t host_floor_bytes = 0;
  std::int64_t host_product_bytes = 0;
  std::int64_t host_convolution_bytes = 0;
  std::int64_t device_convolution_bytes = 0;
  std::int64_t instruction_bytes = 0;  // heap that each instruction costs
  // On the device: what its code and its recordings cost there.
  std::int64_t device_instruction_bytes = 0;
  // The same while planning, when there are no pools yet: by values of graphs,
  // since they are made before instructions are merged.
  std::int64_t planning_floor_bytes = 0;
  std::int64_t planning_value_bytes = 0;
  std::int64_t allowance_bytes = 0;  // what calibration cannot know

  // False: shipped or assumed. Plans made from it are upper bounds.
  bool measured = false;
  // Why figures were not believed, or not kept; for people, empty: they were.
  std::string note;

  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

std::string to_json(const DeviceProfile& profile);
// Checks every type and range and names the key that is wrong.
Result<DeviceProfile> device_profile_from_json(const std::string& text);

}  // namespace plimsoll
