// A planned job with its memory committed: from here on nothing is allocated.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/feeder.h"
#include "memory/arena.h"
#include "runtime/program.h"
#include "train/planned_job.h"

namespace plimsoll::train {

// States that outlive their job: the front of its arena.
struct KeptStates {
  Arena arena;
  std::vector<plan::StateNeed> states;
  std::vector<std::int64_t> offsets;

  std::span<const std::byte> find(std::string_view name) const;
};

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

  // One batch through the program of its size. Call inside the compute
  // threads' arena.
  Status step(Stage stage, const data::Batch& batch);

  // Null where the job has no data for the stage.
  data::BatchFeeder* feeder(Stage stage) {
    return feeders_[static_cast<std::size_t>(stage)].get();
  }
  // What the last predict step made.
  const void* prediction(std::int64_t examples) const;

  // A state's bytes by name; empty when the job has none of that name.
  std::span<std::byte> state(std::string_view name);
  // Sum of a metric since it was last cleared.
  double metric(std::string_view name);
  void set_metric(std::string_view name, double sum);
  void clear_metrics();

  // Copies every state that both have with the same type.
  void restore(const KeptStates& kept);
  // Ends the job and gives everything but its states back.
  Result<KeptStates> keep_states() &&;

  const JobSpec& job() const { return job_; }
  const PlannedJob& planned() const { return planned_; }
  const std::vector<std::unique_ptr<runtime::Program>>& programs() const {
    return programs_;
  }
  // Highest end of any range that any program's launches were given.
  std::int64_t recorded_height_bytes() const;

 private:
  RunningJob(const JobSpec& job, const PlannedJob& planned, Machine& machine)
      : job_(job), planned_(planned), machine_(machine) {}

  Status load_resident(JobData& data);
  Status commit();
  Status make_programs();
  Status make_feeders(const JobData& data);
  Status run_each_once(const JobData& data);
  Status run_once(int program, const Feed& feed, const JobInput& input);
  void set_initial_state();
  Result<runtime::Program*> program_for(Stage stage,
                                        std::int64_t examples) const;
  std::span<std::byte> state_at(std::size_t index);

  const JobSpec& job_;
  const PlannedJob& planned_;
  Machine& machine_;
  const JobData* data_ = nullptr;
  LedgerEntry runtime_entry_;
  Arena arena_;
  std::vector<std::unique_ptr<runtime::Program>> programs_;
  std::array<std::unique_ptr<data::BatchFeeder>, kStages> feeders_;
  std::int64_t examples_set_ = -1;  // what inverse_examples stands for now
};

}  // namespace plimsoll::train
