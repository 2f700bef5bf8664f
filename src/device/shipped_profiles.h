// Profiles of known GPUs, for planning where there is none of them.
#pragma once

#include <string>

#include "device/device_profile.h"

namespace plimsoll {

// h200, a100-80, l4, t4, rtx4090: from public figures, with `measured` false.
// Another name is an error that lists these.
Result<DeviceProfile> shipped_profile(const std::string& name);

}  // namespace plimsoll
