// Applies maps to elements on several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"
#include "data/map.h"
#include "data/stream.h"
#include "data/workers.h"

namespace plimsoll::data {

struct MapStreamOptions {
  int depth = 4;        // chunks on their way at a time
  bool ordered = true;  // otherwise whichever chunk is done comes next
  std::uint64_t seed = 1;
  // Elements that a map cannot take are left out where it says so.
  ErrorPolicy* policy = nullptr;
  // Elements go to threads in chunks of about this: long enough to pay for
  // handing over, short enough to stay in a core's own cache.
  std::int64_t chunk_bytes = 32 * kKiB;
};

// Each map takes what the one before makes. `workers` and the policy outlive
// the stream.
Result<std::unique_ptr<Stream>> map_stream(
    std::unique_ptr<Stream> input, std::vector<std::shared_ptr<Map>> maps,
    Workers& workers, const MapStreamOptions& options);

}  // namespace plimsoll::data
