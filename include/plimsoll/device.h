// Placement: what is made while a scope is there belongs on its device.
#pragma once

#include <string>

namespace plimsoll {

// Ends with the block it is made in. Scopes nest; each thread has its own.
class DeviceScope {
 public:
  // Throws Exception (bad_input) unless it is cpu or cuda:0, cuda:1, ...
  explicit DeviceScope(const std::string& name);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::string before_;
};

// Layers made while the result lives are placed on this device:
//   {
//     const auto on_host = pl::device("cpu");
//     layers.push_back(pl::Dense(128, pl::relu));
//   }
[[nodiscard]] inline DeviceScope device(const std::string& name) {
  return DeviceScope(name);
}
// Of the innermost scope; empty outside of any.
const std::string& current_device();

}  // namespace plimsoll
