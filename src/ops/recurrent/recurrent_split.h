// How a recurrent op is cut over threads: by rows, which never wait for each
// other, and where rows are few also by units, which do after every step. From
// sizes alone, and without a bit of difference in the results.
#pragma once

#include <algorithm>

#include "ops/recurrent/recurrent_shape.h"

namespace plimsoll::ops {

struct RecurrentSplit {
  std::int64_t rows = 1;
  std::int64_t units = 1;
  double step_seconds = 0;
};

// Pieces of units begin at multiples of this.
inline constexpr std::int64_t kUnitStep = 64;

inline RecurrentSplit recurrent_split(const RecurrentShape& shape,
                                      std::int64_t threads) {
  // One core at 2.8 GHz, the recurrent kernel in its caches.
  constexpr double kFlopsPerSecond = 90e9;
  constexpr double kKernelBytesPerSecond = 20e9;
  constexpr double kForkSeconds = 5e-6;
  const auto bytes = static_cast<double>(size_of(wide_dtype(shape.dtype)));
  const auto part = [](std::int64_t total, std::int64_t parts) {
    return static_cast<double>((total + parts - 1) / parts);
  };
  RecurrentSplit best;
  const auto consider = [&](std::int64_t rows, std::int64_t units) {
    const double weights =
        static_cast<double>(shape.width()) * part(shape.hidden, units);
    const double a_weight =
        bytes * (part(shape.batch, rows) / 2 / kFlopsPerSecond +
                 1 / kKernelBytesPerSecond);
    const double seconds = weights * a_weight + (units > 1 ? kForkSeconds : 0);
    if (best.step_seconds == 0 || seconds < best.step_seconds) {
      best = {rows, units, seconds};
    }
  };
  const std::int64_t most_rows =
      std::clamp<std::int64_t>(shape.batch, 1, threads);
  for (std::int64_t rows = most_rows; rows > 0; --rows) {
    consider(rows, 1);
    consider(rows, std::min(threads / rows,
                            (shape.hidden + kUnitStep - 1) / kUnitStep));
  }
  return best;
}

}  // namespace plimsoll::ops
