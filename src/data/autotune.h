// Divides a pipeline's share of memory between threads and batches that lie
// ready, from what its stages were measured to cost.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/explain.h"
#include "data/feeder.h"

namespace plimsoll::data {

// The pipeline over `source`. The maps of a stream run on as many threads as
// are of use on `options.workers` cores, reduced until its buffers leave half
// of `share_bytes` (0: no limit) to the slots; `open` gives the source again.
Result<Input> tune_workers(Source source, const SourceOpener& open,
                           std::span<const Recipe> stages,
                           PipelineOptions options, const PipelineCost& cost,
                           std::int64_t share_bytes);

// Readers and slots within a share of memory.
struct Division {
  int readers = 1;
  int slots = 2;
  std::string reason;
};

// Who takes the batches: `seconds` of work on each (0: none), on so many
// threads.
struct Consumer {
  double seconds = 0;
  int threads = 1;
};

// The fewest readers that come near the best rate there is, with slots for
// each, `ready` batches beside and more where batches are so quick that waking
// a thread takes longer, reduced until everything fits `share_bytes` (0: no
// limit). Where nothing fits, the error says how large one element is and the
// least share that works.
Result<Division> divide_share(const Input& input, FeederOptions options,
                              const PipelineCost& cost, int cores,
                              const Consumer& consumer, int ready,
                              std::int64_t share_bytes);

// Reduces slots and then readers until they fit; the same error.
Result<FeederOptions> fit_share(const Input& input, FeederOptions options,
                                std::int64_t share_bytes);

}  // namespace plimsoll::data
