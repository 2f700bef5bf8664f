// What the program's exit code tells: part of the contract with scripts.
#pragma once

#include "base/result.h"

namespace plimsoll::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;    // or a bad job file
inline constexpr int kDoesNotFit = 3;  // the plan
inline constexpr int kStopped = 75;    // with a checkpoint: run --resume

constexpr int exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::bad_input:
    case ErrorCode::unsupported:
      return kBadUsage;
    case ErrorCode::does_not_fit:
      return kDoesNotFit;
    default:
      return kFailed;
  }
}

}  // namespace plimsoll::cli
