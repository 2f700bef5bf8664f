#include "train/layers/layer_key.h"

#include <fmt/core.h>

#include <cmath>

namespace plimsoll::train {

bool RealRange::holds(double value) const {
  return std::isfinite(value) && value < below &&
         (least_is_outside ? value > least : value >= least);
}

std::string wording(const IntegerRange& range) {
  if (range.most == std::numeric_limits<std::int64_t>::max())
    return fmt::format("an integer of at least {}", range.least);
  return fmt::format("an integer from {} to {}", range.least, range.most);
}

std::string wording(const RealRange& range) {
  std::string text = fmt::format(
      "a number {} {}", range.least_is_outside ? "above" : "of at least",
      range.least);
  if (std::isfinite(range.below)) {
    text += fmt::format(" and below {}", range.below);
  }
  return text;
}

}  // namespace plimsoll::train
