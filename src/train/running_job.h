// A planned job with its memory committed: from here on nothing is allocated.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/feeder.h"
#include "io/safetensors.h"
#include "runtime/program.h"
#include "train/cuda_job.h"
#include "train/job_memory.h"
#include "train/kept_states.h"
#include "train/planned_job.h"

namespace plimsoll::train {

class RunningJob {
 public:
  // Loads what is to be resident, commits the arena, makes every kernel and
  // runs each program once, then sets the initial state. `planned`, `data` and
  // `machine` must outlive the job.
  static Result<std::unique_ptr<RunningJob>> open(const JobSpec& job,
                                                  const PlannedJob& planned,
                                                  JobData& data,
                                                  Machine& machine);
  ~RunningJob();

  // One batch through the program of its size. Takes care of the batch's slot,
  // which goes back to the feeder when it has been read. On a device the step
  // is under way when this returns. Call inside the compute threads' arena.
  Status step(Stage stage, const data::Batch& batch);
  // The update from the gradients that steps have summed since the last one,
  // over this many examples. For jobs that accumulate, and like step().
  Status update(std::int64_t examples);
  // Waits for all steps; what went wrong in them comes out here.
  Status finish();

  // Null where the job has no data for the stage.
  data::BatchFeeder* feeder(Stage stage) {
    return feeders_[static_cast<std::size_t>(stage)].get();
  }
  // What the last predict step made.
  Status read_prediction(std::int64_t examples, std::span<std::byte> out);

  // States are reached while no step is under way, by their position in the
  // job's needs.
  Result<std::span<const std::byte>> state_piece(std::size_t index,
                                                 std::int64_t offset,
                                                 std::int64_t bytes);
  // Calls `fill` with room for the pieces of a state, and writes them.
  using FillPiece = KeptStates::FillPiece;
  Status fill_state(std::size_t index, const FillPiece& fill);
  // Sets every element, of f32 or f64; does nothing when there is no such
  // state.
  Status set_all(std::string_view name, double value);
  // A scalar of f32 or f64, once all steps are done.
  Result<double> scalar(std::string_view name);

  // Sums of metrics since they were last cleared, in the order of the job's
  // needs: the loss first.
  Result<std::span<const double>> metrics();
  // The same when `position` examples are in, without waiting for a device:
  // there it may be those of some steps ago, and says of which position.
  Result<Sample> recent_metrics(std::int64_t position);
  Status set_metrics(std::span<const double> sums);
  Status clear_metrics();

  // Copies every state that both have with the same shape, f32 and f64 as the
  // one that this job has.
  Status restore(const KeptStates& kept);
  // Ends the job and gives everything but its states back.
  Result<KeptStates> keep_states() &&;

  const JobSpec& job() const { return job_; }
  const PlannedJob& planned() const { return planned_; }
  const std::vector<std::unique_ptr<runtime::Program>>& programs() const {
    return programs_;
  }
  // Highest end of any range that any program's launches were given at home.
  std::int64_t recorded_height_bytes() const;

 private:
  RunningJob(const JobSpec& job, const PlannedJob& planned, Machine& machine);

  Status load_resident(JobData& data);
  Status charge_runtime();
  Status make_programs();
  Status make_feeders(const JobData& data);
  Status run_each_once(const JobData& data);
  Status run_once(int program, const Feed& feed, const JobInput& input);
  Status set_initial_state();
  Result<int> program_for(Stage stage, std::int64_t examples) const;
  std::int64_t group_examples() const;  // of a whole group
  // In the arena of its place.
  std::int64_t state_offset(std::size_t index) const;
  // Where the host can look at it; null on a device.
  std::byte* state_view(std::size_t index) const;
  std::optional<std::size_t> find_state(std::string_view name) const;

  const JobSpec& job_;
  const PlannedJob& planned_;
  Machine& machine_;
  const JobData* data_ = nullptr;
  std::vector<LedgerEntry> runtime_entries_;
  JobMemory memory_;
  std::vector<std::unique_ptr<runtime::Program>> programs_;
  std::array<std::unique_ptr<data::BatchFeeder>, kStages> feeders_;
  std::unique_ptr<CudaJob> cuda_;  // null on the CPU
  std::vector<std::int64_t> metric_offsets_;
  std::vector<double> metrics_;
  std::int64_t examples_set_ = -1;  // what inverse_examples stands for now
  std::int64_t group_set_ = -1;     // the same of group_scale
};

}  // namespace plimsoll::train
