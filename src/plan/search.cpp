#include "plan/search.h"

namespace plimsoll::plan {

Result<std::optional<std::int64_t>> smallest_failing(
    std::int64_t low, std::int64_t high,
    const std::function<Result<bool>(std::int64_t)>& fits) {
  using Answer = std::optional<std::int64_t>;
  if (low > high) return Answer();
  PLIMSOLL_ASSIGN(const bool low_fits, fits(low));
  if (!low_fits) return Answer(low);

  // Unsigned distances: high - low may pass the signed range.
  const auto width =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::uint64_t good = 0;  // distance from low of the last value that fits
  std::uint64_t bad = 0;
  const auto at = [&](std::uint64_t distance) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) +
                                     distance);
  };
  for (std::uint64_t step = 1; bad == 0; step *= 2) {
    if (good == width) return Answer();
    const std::uint64_t next = width - good < step ? width : good + step;
    PLIMSOLL_ASSIGN(const bool next_fits, fits(at(next)));
    (next_fits ? good : bad) = next;
  }
  while (bad - good > 1) {
    const std::uint64_t middle = good + (bad - good) / 2;
    PLIMSOLL_ASSIGN(const bool middle_fits, fits(at(middle)));
    (middle_fits ? good : bad) = middle;
  }
  return Answer(at(bad));
}

}  // namespace plimsoll::plan
