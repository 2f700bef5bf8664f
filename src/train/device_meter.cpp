#include "train/device_meter.h"

#include <unistd.h>

#include <algorithm>

#include "device/nvml/visible_gpus.h"

namespace plimsoll::train {

Result<DeviceMeter> DeviceMeter::open(int ordinal) {
  PLIMSOLL_ASSIGN(Nvml nvml, Nvml::open());
  PLIMSOLL_ASSIGN(const VisibleGpu gpu, cuda_gpu(nvml, ordinal));
  const std::int64_t before = nvml.used_bytes(gpu.nvml_index).value_or(0);
  const int others = nvml.processes(gpu.nvml_index).value_or(0);
  return DeviceMeter(std::move(nvml), gpu.nvml_index, getpid(), before, others);
}

std::int64_t DeviceMeter::read() {
  std::int64_t bytes = 0;
  if (const auto own = nvml_.process_bytes(index_, process_)) {
    by_process_ = true;
    bytes = *own;
  } else if (!by_process_) {
    bytes = nvml_.used_bytes(index_).value_or(before_bytes_) - before_bytes_;
  }
  peak_bytes_ = std::max(peak_bytes_, bytes);
  return bytes;
}

const char* DeviceMeter::method() const {
  return by_process_ ? "nvml process" : "nvml used minus before";
}

}  // namespace plimsoll::train
