// A device: its profile, its memory and its streams.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "device/device_profile.h"
#include "device/event.h"
#include "device/stream.h"
#include "memory/purpose.h"
#include "plimsoll/memory_source.h"

namespace plimsoll {

enum class DeviceKind { cpu, cuda, null };
std::string_view name_of(DeviceKind kind);

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda:0", "null"
  virtual DeviceKind kind() const = 0;
  virtual const DeviceProfile& profile() const = 0;

  // Where arenas of this device are mapped, and the space they count in.
  virtual MemorySource& memory() = 0;
  virtual Space space() const = 0;

  virtual Result<std::unique_ptr<Stream>> make_stream() = 0;
  virtual Result<std::unique_ptr<Event>> make_event() = 0;
};

}  // namespace plimsoll
