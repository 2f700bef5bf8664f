// A point in a stream's work that other streams and the host can wait for.
#pragma once

#include "base/result.h"

namespace plimsoll {

class Event {
 public:
  virtual ~Event() = default;
  // True once the work before the last record() is done; true if never
  // recorded.
  virtual bool done() const noexcept = 0;
  // The host waits. Errors of the work before it come out here.
  virtual Status synchronize() = 0;
};

}  // namespace plimsoll
