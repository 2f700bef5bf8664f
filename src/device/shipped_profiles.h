// Profiles of known GPUs, for planning where there is none of them.
#pragma once

#include <string>
#include <string_view>

#include "device/device_profile.h"

namespace plimsoll {

// h200, a100-80, l4, t4, rtx4090: from public figures, with `measured` false.
// Another name is an error that lists these.
Result<DeviceProfile> shipped_profile(const std::string& name);
// The one for a device as its driver calls it ("NVIDIA H200"), or figures of
// the slowest with the largest floor where it is not known.
DeviceProfile shipped_profile_for(std::string_view device);

}  // namespace plimsoll
