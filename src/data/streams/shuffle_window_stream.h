// A shuffle within a sliding window.
#pragma once

#include <cstdint>
#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

struct ShuffleWindowOptions {
  std::int64_t elements = 1024;  // held at most
  std::uint64_t seed = 1;
};

// The order is a function of seed, epoch and an element's place in the epoch
// alone: element i moves by a random share of the window. So the position is a
// few numbers, and restoring reads at most two windows again.
Result<std::unique_ptr<Stream>> shuffle_window_stream(
    std::unique_ptr<Stream> input, const ShuffleWindowOptions& options);

}  // namespace plimsoll::data
