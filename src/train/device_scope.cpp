#include <utility>

#include "device/device_name.h"
#include "plimsoll/device.h"
#include "train/layers/layer_def.h"
#include "train/session_state.h"

namespace plimsoll {

DeviceScope::DeviceScope(const std::string& name) {
  if (name != "cpu") value_or_throw(cuda_ordinal(name));
  before_ = std::exchange(train::scope_device(), name);
}

DeviceScope::~DeviceScope() { train::scope_device() = std::move(before_); }

const std::string& current_device() { return train::scope_device(); }

}  // namespace plimsoll
