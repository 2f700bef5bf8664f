// What NVIDIA's management library tells of the GPUs and of who holds their
// memory. It is opened by name: nothing links it, and it needs no CUDA.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll {

struct GpuFacts {
  std::string name;  // "NVIDIA H200"
  std::string uuid;
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;
  std::int64_t used_bytes = 0;
  int capability_major = 0;  // 9.0 is sm_90
  int capability_minor = 0;
  std::string pci_bus_id = {};  // "00000000:3B:00.0"
};

class Nvml {
 public:
  // Fails where there is no driver, naming the library. Tests give their own.
  static Result<Nvml> open(const std::string& library = kLibrary);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  std::string driver_version() const;
  Result<std::vector<GpuFacts>> devices() const;

  // What the driver counts for a process, its context included; empty where it
  // holds nothing or the driver does not say. Takes no heap after the first
  // call unless processes become twice as many: made for a training loop.
  std::optional<std::int64_t> process_bytes(int device, pid_t process);
  // How many processes have a context there; empty: not told.
  std::optional<int> processes(int device);
  // Of all processes together.
  std::optional<std::int64_t> used_bytes(int device) const;

 private:
  static constexpr char kLibrary[] = "libnvidia-ml.so.1";
  struct Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
