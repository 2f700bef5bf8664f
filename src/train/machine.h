// The process's side of a job: threads, kernels, memory and its book.
#pragma once

#include <memory>

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

  // What a plan made here must match to be run: versions, instruction set,
  // threads, device.
  std::string fingerprint() const;

 private:
  DeviceProfile profile_;
  ComputeThreads threads_;
  HostMemorySource host_;
  Ledger ledger_;
  std::unique_ptr<ops::KernelFactory> kernels_;
};

}  // namespace plimsoll::train
