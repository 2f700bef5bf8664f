// The edge of the library: an Error leaves as the one exception type.
#pragma once

#include "base/result.h"
#include "plimsoll/error.h"

namespace plimsoll {

[[noreturn]] void throw_error(const Error& error);

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw_error(result.error());
  return *std::move(result);
}
inline void throw_if_error(const Status& status) {
  if (!status) throw_error(status.error());
}

}  // namespace plimsoll
