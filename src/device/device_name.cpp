#include "device/device_name.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace plimsoll {

Result<int> cuda_ordinal(const std::string& device) {
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = -1;
  if (device.starts_with(kPrefix)) {
    const char* end = device.data() + device.size();
    const auto [stop, failure] =
        std::from_chars(device.data() + kPrefix.size(), end, ordinal);
    // One name a device: cuda:00 would be another.
    if (failure == std::errc() && stop == end &&
        device == fmt::format("cuda:{}", ordinal) && ordinal >= 0) {
      return ordinal;
    }
  }
  return Error{ErrorCode::bad_input,
               fmt::format("device {}: write cpu or cuda:0", device)};
}

}  // namespace plimsoll
