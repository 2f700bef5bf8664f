// What stands behind a Model: the jobs that its calls become.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include "plimsoll/model.h"
#include "train/dataset.h"
#include "train/report.h"
#include "train/running_job.h"
#include "train/session_state.h"

namespace plimsoll {

// A job over some data, planned for this model. Kept on the heap: programs
// refer to the plan by address.
struct PreparedJob {
  train::JobSpec job;
  train::JobData data;
  train::PlannedJob planned;
};

struct Model::Impl final : train::SessionUser {
  train::ModelSpec model;  // no input: the data's is taken
  CompileOptions options;
  train::KeptStates kept;
  // Of load_weights(), until a fit has taken its values.
  std::unique_ptr<io::SafetensorsFile> weights_file;
  train::RunningJob* fitting = nullptr;  // while fit() runs

  // Not the Session, which can be moved.
  train::SessionState& state() const;
  void let_go() noexcept override {
    kept = {};
    weights_file.reset();
  }
  // With the weights; what an optimizer had of them goes.
  void move_to(train::SessionState& place);
  // Whether parameters are held in the type of the options, not in that of an
  // earlier compile().
  bool has_its_type() const;
  // Throws while fit() runs: the weights are the running job's.
  void check_idle(const char* action) const;

  using Set = std::pair<train::Stage, const data::Dataset*>;
  std::unique_ptr<PreparedJob> prepare(std::initializer_list<Set> sets,
                                       std::int64_t epochs) const;
  train::PlanReport report(const PreparedJob& prepared) const;
  // At which batch each memory runs out.
  void add_limits(const PreparedJob& prepared, train::PlanReport& made) const;
  // What would make a job fit that trains, and does nothing else, on its data.
  void add_remedies(const PreparedJob& prepared, train::PlanReport& made) const;
  std::unique_ptr<train::RunningJob> open(PreparedJob& prepared) const;
  // What the session's models and iterators hold already, this one's states
  // among it.
  std::int64_t held_bytes(Space space) const;

  // Runs every batch of a stage through `each`.
  template <class Each>
  void run_stage(train::RunningJob& running, train::Stage stage,
                 const Each& each) const {
    Status status;
    state().machine().threads().enter([&] {
      data::BatchFeeder& feeder = *running.feeder(stage);
      status = feeder.start({});
      while (status.ok()) {
        auto batch = feeder.next();
        if (!batch) {
          status = std::move(batch).error();
          break;
        }
        if (batch->examples == 0) break;
        status = running.step(stage, *batch);
        if (status.ok()) status = each(batch->examples);
      }
    });
    throw_if_error(status);
  }

  // What can be said of options before there is any data.
  void check(const CompileOptions& asked) const;

 private:
  train::JobSpec job_of(std::int64_t epochs) const;
  // Opens a set's source and pipeline as the job's stage.
  void open_set(const Set& set, const train::DataSpec& stated,
                PreparedJob& prepared) const;
  void take_input_shape(PreparedJob& prepared) const;
  void check_against_kept(const PreparedJob& prepared) const;
};

}  // namespace plimsoll
