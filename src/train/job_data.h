// What a job reads: sources opened and checked, nothing loaded.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "base/shape.h"
#include "data/explain.h"
#include "data/feeder.h"
#include "data/pipeline.h"
#include "train/job_spec.h"

namespace plimsoll::train {

// What a job does with data; each has its own graph and its own input.
enum class Stage : std::uint8_t { train, evaluate, predict };
inline constexpr std::size_t kStages = 3;
const char* name_of(Stage stage);

// The two fields of an input that training takes.
struct JobInput {
  data::Input input;
  int features = 0;
  int labels = 1;

  // With the two fields named so, or else the first two.
  static Result<JobInput> of(data::Input input);

  const data::FieldSpec& features_field() const {
    return input.spec()[static_cast<std::size_t>(features)];
  }
  const data::FieldSpec& labels_field() const {
    return input.spec()[static_cast<std::size_t>(labels)];
  }
  // In an epoch; data::kUnknownCount where nobody has counted.
  std::int64_t examples() const { return input.size(); }
};

Shape shape_of(const data::Extents& extents);

struct JobData {
  // Where each stage's elements come from, before the pipeline: null where
  // unused, or where it is a stream.
  std::array<std::shared_ptr<const data::Indexed>, kStages> sources;
  // Held whole in memory during the run. For planning, stand-ins with the
  // same shapes take the place of what is not loaded yet.
  bool resident = false;
  // Opens a stage's source afresh.
  std::array<data::SourceOpener, kStages> openers;
  // Measured where the job asks for autotuning.
  std::array<std::optional<data::PipelineCost>, kStages> costs;
  // The sources with the job's pipeline over them.
  std::array<std::optional<JobInput>, kStages> inputs;

  bool has(Stage stage) const {
    return inputs[static_cast<std::size_t>(stage)].has_value();
  }
  const JobInput& input(Stage stage) const {
    return *inputs[static_cast<std::size_t>(stage)];
  }
  // Where shapes come from: the first there is.
  const JobInput& first() const;
};

// A source with the job's pipeline over it, as `stage` needs it: only training
// shuffles. `threads` may work on it.
Result<JobInput> pipe(const JobSpec& job, Stage stage, int threads,
                      data::Source source);

Result<JobData> open_data(const JobSpec& job, int threads);

// Batches that a prefetch stage keeps ready beside the one in training.
std::int64_t prefetched(const data::Recipe& stage);

data::PipelineOptions pipeline_options(const JobSpec& job, Stage stage,
                                       int threads);
bool autotunes(const JobSpec& job);

// The type of class indices, where the model takes them: i64 where any of the
// data has more than i32 holds. Numbers with a fraction lose it, as in Keras.
std::optional<DType> index_type(const JobSpec& job, const JobData& data);

// How batches are fed, by the job's pipeline.
data::FeederOptions feeder_options(const JobSpec& job, const JobInput& input,
                                   int threads, DType features_as,
                                   DType labels_as);

}  // namespace plimsoll::train
