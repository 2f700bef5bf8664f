// The process's side of a job: threads, kernels, memory and its book.
#pragma once

#include <memory>
#include <optional>

#include "base/units.h"
#include "device/cpu/compute_threads.h"
#include "device/cpu/host_memory_source.h"
#include "device/cuda_device.h"
#include "device/device_profile.h"
#include "memory/ledger.h"
#include "ops/cpu_kernels.h"
#include "ops/cuda_kernels.h"
#include "train/device_meter.h"
#include "train/library_work.h"

namespace plimsoll::train {

class Machine {
 public:
  explicit Machine(DeviceProfile profile)
      : profile_(std::move(profile)),
        threads_(profile_.threads),
        kernels_(ops::make_cpu_kernels(threads_)) {}
  // With a device of its own memory, which programs are planned for.
  Machine(DeviceProfile profile, DeviceProfile device, ops::CudaSettings cuda)
      : Machine(std::move(profile)) {
    device_catalog_ = std::make_unique<ops::CudaCatalog>(device, cuda);
    device_profile_ = std::move(device);
    home_ = "cuda:0";
  }

  const DeviceProfile& profile() const { return profile_; }  // the CPU's
  // Null where programs run on the CPU.
  const DeviceProfile* device_profile() const {
    return device_profile_ ? &*device_profile_ : nullptr;
  }
  // The device that programs run on, by name.
  const std::string& home() const { return home_; }
  void set_home(std::string name) { home_ = std::move(name); }
  // What it can run.
  const graph::KernelCatalog& catalog() const {
    if (device_catalog_) return *device_catalog_;
    return *kernels_;
  }
  const ops::CudaCatalog& cuda_catalog() const { return *device_catalog_; }
  // Layers of the library's are made by kernels of ours from here on. False:
  // there were none.
  bool use_own_layers() {
    return device_catalog_ && device_catalog_->drop_library_layers();
  }

  // Unset: the profile's estimates of libraries count.
  void set_library_measure(LibraryMeasure measure) {
    library_measure_ = std::move(measure);
  }
  const LibraryMeasure& library_measure() const { return library_measure_; }

  // Takes the device's context: the first of its memory. What the driver shows
  // is measured from here on. `compiler` as CudaModule::open() takes it.
  // Refused where the profile is of another version of its library.
  Status open_device(int ordinal, const std::string& compiler);
  CudaDevice* device() const { return device_.get(); }  // null until then
  // What the driver shows for the process now, and by which figure.
  std::int64_t device_bytes() { return meter_->read(); }
  std::int64_t device_peak_bytes() const { return meter_->peak_bytes(); }
  const char* device_method() const { return meter_->method(); }
  // For when every kernel has run and the driver takes no more: an error where
  // it shows more than the budget.
  Status check_device(std::int64_t budget_bytes, std::int64_t forecast_bytes);
  bool device_is_shared() const { return meter_->is_shared(); }
  // Whether copies run from fixed pages; without, they stop for each other.
  bool pins_memory() const { return pins_memory_; }
  void set_pins_memory(bool pins) { pins_memory_ = pins; }

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
  std::string home_ = "cpu";
  std::optional<DeviceProfile> device_profile_;
  std::unique_ptr<ops::CudaCatalog> device_catalog_;
  std::optional<DeviceMeter> meter_;
  std::unique_ptr<CudaDevice> device_;
  LibraryMeasure library_measure_;
  bool pins_memory_ = true;
};

}  // namespace plimsoll::train
