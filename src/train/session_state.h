// What stands behind a public Session.
#pragma once

#include "memory/budget.h"
#include "plimsoll/error.h"
#include "train/machine.h"

namespace plimsoll::train {

class SessionState {
 public:
  SessionState(Budget line, SystemMemory memory, DeviceProfile profile)
      : budget(std::move(line)),
        system(std::move(memory)),
        machine(std::move(profile)) {
    machine.ledger().set_limit(Space::host, budget.bytes);
  }

  Budget budget;
  SystemMemory system;
  Machine machine;
};

// The edge of the library: an Error leaves as the one exception type.
[[noreturn]] void throw_error(const Error& error);

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw_error(result.error());
  return *std::move(result);
}
inline void throw_if_error(const Status& status) {
  if (!status) throw_error(status.error());
}

}  // namespace plimsoll::train
