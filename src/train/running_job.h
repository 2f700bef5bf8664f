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
  Status train_step(const data::Batch& batch);
  Status evaluate_step(const data::Batch& batch);

  data::BatchFeeder& train_feeder() { return *train_feeder_; }
  data::BatchFeeder* validation_feeder() { return validation_feeder_.get(); }

  // A state's bytes by name; empty when the job has none of that name.
  std::span<std::byte> state(std::string_view name);
  // Sum of a metric since it was last cleared.
  double metric(std::string_view name);
  void clear_metrics();

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
  void set_initial_state();
  Status step(int full, int tail, const data::Batch& batch);
  std::span<std::byte> state_at(std::size_t index);

  const JobSpec& job_;
  const PlannedJob& planned_;
  Machine& machine_;
  LedgerEntry runtime_entry_;
  Arena arena_;
  std::vector<std::unique_ptr<runtime::Program>> programs_;
  std::unique_ptr<data::BatchFeeder> train_feeder_;
  std::unique_ptr<data::BatchFeeder> validation_feeder_;
  int train_ = -1;
  int train_tail_ = -1;
  int evaluate_ = -1;
  int evaluate_tail_ = -1;
  std::int64_t examples_set_ = -1;  // what inverse_examples stands for now
};

}  // namespace plimsoll::train
