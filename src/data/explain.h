// What a pipeline costs, stage by stage: measured on the pipeline itself, by
// running it up to each of its stages in turn.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

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
  bool mostly_waits() const { return busy() < 0.5; }
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

}  // namespace plimsoll::data
