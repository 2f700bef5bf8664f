// What a job reads: sources opened and checked, nothing loaded.
#pragma once

#include <array>
#include <memory>

#include "data/feeder.h"
#include "data/source.h"
#include "train/job_spec.h"

namespace plimsoll::train {

// What a job does with data; each has its own graph and its own source.
enum class Stage : std::uint8_t { train, evaluate, predict };
inline constexpr std::size_t kStages = 3;
const char* name_of(Stage stage);

struct JobData {
  std::array<std::unique_ptr<data::Source>, kStages> sources;  // null: unused
  // Held whole in memory during the run. For planning, stand-ins with the
  // same shapes take the place of what is not loaded yet.
  bool resident = false;

  const data::Source* source(Stage stage) const {
    return sources[static_cast<std::size_t>(stage)].get();
  }
  // Where shapes come from: the first source there is.
  const data::Source& first() const;
};

Result<JobData> open_data(const JobSpec& job);

// `source` as it will look once it is held in memory: to be measured and laid
// out, never read.
Result<std::unique_ptr<data::Source>> resident_stand_in(
    const data::Source& source);

// How batches are fed, by the job's pipeline.
// Only training shuffles.
data::FeederOptions feeder_options(const JobSpec& job, Stage stage,
                                   DType labels_as);

}  // namespace plimsoll::train
