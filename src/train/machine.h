// The process's side of a job: threads, kernels, memory and its book.
#pragma once

#include <memory>

#include "base/units.h"
#include "device/cpu/compute_threads.h"
#include "device/cpu/host_memory_source.h"
#include "device/device_profile.h"
#include "memory/ledger.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::train {

class Machine {
 public:
  explicit Machine(DeviceProfile profile)
      : profile_(std::move(profile)),
        threads_(profile_.threads),
        kernels_(ops::make_cpu_kernels(threads_)) {}

  const DeviceProfile& profile() const { return profile_; }
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
};

}  // namespace plimsoll::train
