#include "device/device.h"

namespace plimsoll {

std::string_view name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::null:
      return "null";
  }
  return "unknown";
}

}  // namespace plimsoll
