// What a pipeline costs, stage by stage: measured on the pipeline itself, by
// running it up to each of its stages in turn.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/feeder.h"
#include "data/pipeline.h"

namespace plimsoll::data {

struct StageCost {
  std::string name;
  std::int64_t bytes = 0;  // of one reader, or of the whole stream
  double seconds = 0;      // its own, for one element, on one thread
  double busy = 1;         // share of them in which a core was at work
};

struct PipelineCost {
  std::vector<StageCost> stages;  // the source first
  std::int64_t elements = 0;      // measured in the longest run

  // For one element, on one thread.
  double seconds() const;
  // The stage that takes the most.
  std::size_t slowest() const;
  // The share of it in which a core is at work.
  double busy() const;
  // How many threads of a machine with `cores` are of use: more than cores
  // where stages wait rather than work.
  int useful_threads(int cores) const;
};

// Opens the source afresh each time it is called.
using SourceOpener = std::function<Result<Source>()>;

// Takes about `seconds_each` for every stage, and heap memory for a few
// elements. Stages that come after `batch` are the feeder's and not measured.
Result<PipelineCost> measure_pipeline(const SourceOpener& open,
                                      std::span<const Recipe> stages,
                                      const PipelineOptions& options,
                                      double seconds_each = 0.02);

struct TunedInput {
  Input input;
  int workers = 0;
};

// The pipeline. The maps of a stream run on as many threads as are of use on
// `options.workers` cores, reduced until its buffers leave half of
// `share_bytes` (0: no limit) to the slots.
Result<TunedInput> tune_workers(const SourceOpener& open,
                                std::span<const Recipe> stages,
                                PipelineOptions options,
                                const PipelineCost& cost,
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
// limit).
// Where nothing fits, the error says how large one element is and the least
// share that works.
Result<Division> divide_share(const Input& input, FeederOptions options,
                              const PipelineCost& cost, int cores,
                              const Consumer& consumer, int ready,
                              std::int64_t share_bytes);

// Reduces readers and slots until they fit; the same error.
Result<FeederOptions> fit_share(const Input& input, FeederOptions options,
                                std::int64_t share_bytes);

}  // namespace plimsoll::data
