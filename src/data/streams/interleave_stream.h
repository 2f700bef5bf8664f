// Several streams read in turns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

struct InterleaveOptions {
  int cycle = 4;           // streams read at a time
  std::int64_t block = 1;  // elements from one before it is the next one's turn
  bool shuffle = false;    // another order of the streams in every epoch
  std::uint64_t seed = 1;
};

// Turns go round `cycle` places. A stream that ends gives the turn away, and
// when its place comes round again the next stream of the list begins there.
// Memory is that of the largest `cycle` times, however long the list: place()
// of a stream is called again whenever it begins.
Result<std::unique_ptr<Stream>> interleave_stream(
    std::vector<std::unique_ptr<Stream>> inputs,
    const InterleaveOptions& options);

}  // namespace plimsoll::data
