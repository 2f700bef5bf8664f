// The CPU as a device: host pages, and streams that run at once.
#pragma once

#include <memory>

#include "device/cpu/cpu_info.h"
#include "device/device.h"

namespace plimsoll {

// What can be known without measuring: names, threads, grain. Its rates are
// assumptions by instruction set, and `measured` is false.
DeviceProfile assumed_cpu_profile(const CpuInfo& info, int threads);

std::unique_ptr<Device> make_cpu_device(DeviceProfile profile);

}  // namespace plimsoll
