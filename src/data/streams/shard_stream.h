// One of several disjoint shares of a stream.
#pragma once

#include <cstdint>
#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

// The elements whose place in the epoch, modulo `shards`, is `shard`.
Result<std::unique_ptr<Stream>> shard_stream(std::unique_ptr<Stream> input,
                                             std::int64_t shard,
                                             std::int64_t shards);

}  // namespace plimsoll::data
