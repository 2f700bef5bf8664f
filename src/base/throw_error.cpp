#include "base/throw_error.h"

namespace plimsoll {

void throw_error(const Error& error) {
  static_assert(static_cast<int>(Failure::internal) ==
                static_cast<int>(ErrorCode::internal));
  throw Exception(static_cast<Failure>(error.code), error.message);
}

}  // namespace plimsoll
