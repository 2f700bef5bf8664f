// A device that counts and runs nothing: planning is tested without hardware.
#pragma once

#include <memory>

#include "device/device.h"

namespace plimsoll {

// `memory_bytes` is the size of the device it stands for; the profile's
// granularity is the grain of its memory.
std::unique_ptr<Device> make_null_device(DeviceProfile profile,
                                         std::int64_t memory_bytes);

}  // namespace plimsoll
