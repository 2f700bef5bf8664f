// Finding the point where something stops fitting.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"

namespace plimsoll::plan {

// The smallest value in [low, high] that does not fit, or null when all that
// were tried do: doubling steps from `low`, then bisection. For an answer N
// above `low`, fits(N - 1) was seen to be true and fits(N) to be false, also
// where `fits` is not monotone. The first error of `fits` is returned.
Result<std::optional<std::int64_t>> smallest_failing(
    std::int64_t low, std::int64_t high,
    const std::function<Result<bool>(std::int64_t)>& fits);

}  // namespace plimsoll::plan
