// Work in order: what is enqueued on one stream runs one after the other.
// Failures of enqueued work are kept and come out at synchronize().
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device/event.h"

namespace plimsoll {

enum class CopyDirection { within_host, to_device, to_host, within_device };

class Stream {
 public:
  virtual ~Stream() = default;

  // Both ranges must stay as they are until the copy has run. Asynchronous
  // only where the host's side is pinned.
  virtual Status copy(void* to, const void* from, std::int64_t bytes,
                      CopyDirection direction) = 0;
  // Fills the range with zeros.
  virtual Status clear(void* start, std::int64_t bytes) = 0;
  // Events are of the same device.
  virtual Status record(Event& event) = 0;
  virtual Status wait(const Event& event) = 0;
  virtual Status synchronize() = 0;
};

}  // namespace plimsoll
