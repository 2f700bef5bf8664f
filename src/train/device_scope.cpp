#include <utility>

#include "device/device_name.h"
#include "plimsoll/device.h"
#include "train/session_state.h"

namespace plimsoll {
namespace {

thread_local std::string current;

}  // namespace

DeviceScope::DeviceScope(const std::string& name) {
  if (name != "cpu") train::value_or_throw(cuda_ordinal(name));
  before_ = std::exchange(current, name);
}

DeviceScope::~DeviceScope() { current = std::move(before_); }

const std::string& current_device() { return current; }

}  // namespace plimsoll
