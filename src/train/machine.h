// The process's side of a job: threads, kernels, memory and its book.
#pragma once

#include <memory>
#include <optional>

#include "base/units.h"
#include "device/cpu/compute_threads.h"
#include "device/cpu/host_memory_source.h"
#include "device/device_profile.h"
#include "graph/kernel_catalog.h"
#include "memory/ledger.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::train {

class Machine {
 public:
  explicit Machine(DeviceProfile profile)
      : profile_(std::move(profile)),
        threads_(profile_.threads),
        kernels_(ops::make_cpu_kernels(threads_)) {}
  // With a device of its own memory: programs are planned for what `catalog`
  // says it can run.
  Machine(DeviceProfile profile, DeviceProfile device,
          std::unique_ptr<graph::KernelCatalog> catalog)
      : Machine(std::move(profile)) {
    device_profile_ = std::move(device);
    device_catalog_ = std::move(catalog);
  }

  const DeviceProfile& profile() const { return profile_; }  // the CPU's
  // Null where programs run on the CPU.
  const DeviceProfile* device_profile() const {
    return device_profile_ ? &*device_profile_ : nullptr;
  }
  // Of the device that programs run on.
  const graph::KernelCatalog& catalog() const {
    if (device_catalog_) return *device_catalog_;
    return *kernels_;
  }
  ComputeThreads& threads() { return threads_; }
  const ops::KernelFactory& kernels() const { return *kernels_; }
  HostMemorySource& host() { return host_; }
  Ledger& ledger() { return ledger_; }

  // Planning works in memory of its own, apart from the pools it plans, and
  // gives it back before they are committed.
  MemorySource& planning_memory() { return planning_memory_; }
  std::int64_t planning_cap_bytes() const { return planning_cap_bytes_; }
  void set_planning_cap(std::int64_t bytes) { planning_cap_bytes_ = bytes; }

  // What a plan made here must match to be run: versions, instruction set,
  // threads, device.
  std::string fingerprint() const;

 private:
  DeviceProfile profile_;
  ComputeThreads threads_;
  HostMemorySource host_;
  HostMemorySource planning_memory_;
  std::int64_t planning_cap_bytes_ = 256 * kMiB;
  Ledger ledger_;
  std::unique_ptr<ops::KernelFactory> kernels_;
  std::optional<DeviceProfile> device_profile_;
  std::unique_ptr<graph::KernelCatalog> device_catalog_;
};

}  // namespace plimsoll::train
