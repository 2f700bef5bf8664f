// Times ops of the CUDA catalogue on a device, each by itself.
#pragma once

#include <span>
#include <string>

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"

namespace plimsoll::bench {

struct DeviceTime {
  double seconds = 0;
  std::string algorithms;  // of the libraries' stages
  std::string name;        // of the kernel
  std::int64_t scratch_bytes = 0;
};

class DeviceTimer {
 public:
  DeviceTimer(CudaDevice& device, Stream& stream, ops::CudaSettings settings)
      : device_(device),
        stream_(stream),
        catalog_(device.profile(), settings) {}
  ~DeviceTimer();
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  // The best of a few recordings of ten launches.
  Result<DeviceTime> time(const graph::KernelQuery& query);

 private:
  // Memory that lies in a row, made larger where it must be.
  Status place(std::span<const std::int64_t> sizes, std::byte** at);
  Status fill();

  CudaDevice& device_;
  Stream& stream_;
  ops::CudaCatalog catalog_;
  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace plimsoll::bench
