#include "train/planned_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "data/resident_source.h"
#include "ops/standard_ops.h"
#include "plan/validator.h"

namespace plimsoll::train {
namespace {

class JobPlanner {
 public:
  JobPlanner(const JobSpec& job, const JobData& data, Machine& machine)
      : job_(job), data_(data), machine_(machine) {}

  Result<PlannedJob> run() {
    PLIMSOLL_ASSIGN(
        planned_.graphs,
        build_step_graphs(job_.model, job_.train, data_.train->labels().shape));
    PLIMSOLL_RETURN_IF_ERROR(plan_feeds());
    const std::int64_t batch = job_.train.batch;
    PLIMSOLL_RETURN_IF_ERROR(add_programs("train", planned_.graphs.train,
                                          data_.train->examples(), batch));
    if (data_.validation) {
      PLIMSOLL_RETURN_IF_ERROR(
          add_programs("evaluate", planned_.graphs.evaluate,
                       data_.validation->examples(), batch));
    }
    set_runtime();
    PLIMSOLL_ASSIGN(planned_.plan,
                    plan::lay_out(planned_.needs, std::move(plans_),
                                  machine_.fingerprint()));
    estimate_times();
    return std::move(planned_);
  }

 private:
  // A full batch, and the last partial one where the set does not divide.
  Status add_programs(const std::string& name, const graph::Graph& graph,
                      std::int64_t examples, std::int64_t batch) {
    if (examples >= batch) {
      PLIMSOLL_RETURN_IF_ERROR(add_program(name, graph, batch));
    }
    if (examples % batch != 0) {
      PLIMSOLL_RETURN_IF_ERROR(
          add_program(name + "-tail", graph, examples % batch));
    }
    return {};
  }

  Status add_program(const std::string& name, const graph::Graph& graph,
                     std::int64_t batch) {
    PlannedProgram program;
    PLIMSOLL_ASSIGN(
        program.lowered,
        graph::lower(graph, batch, machine_.kernels(), ops::standard_ops()));
    PLIMSOLL_ASSIGN(auto plan, plan::plan_program(program.lowered, name));
    PLIMSOLL_RETURN_IF_ERROR(plan::validate(program.lowered, plan));
    for (const graph::State& state : graph.states) {
      program.job_state.push_back(state_index(state, graph.type(state.value)));
    }
    for (const graph::Instruction& step : program.lowered.instructions) {
      planned_.needs.kernel_bytes += step.kernel.private_bytes;
    }
    planned_.numerics_key =
        stable_hash(hash_text(plan.numerics_key), planned_.numerics_key);
    planned_.programs.push_back(std::move(program));
    plans_.push_back(std::move(plan));
    return {};
  }

  int state_index(const graph::State& state, const graph::TensorType& type) {
    auto& states = planned_.needs.states;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i].name == state.name) return static_cast<int>(i);
    }
    states.push_back({state.name, state.role, type});
    return static_cast<int>(states.size()) - 1;
  }

  Result<data::FeederLayout> feed_of(const data::Source& source,
                                     const data::FeederOptions& options) {
    if (!data_.resident) return data::feeder_layout(source, options);
    planned_.needs.user_bytes += data::ResidentSource::bytes_needed(
        source, machine_.host().granularity_bytes());
    PLIMSOLL_ASSIGN(const auto held, resident_stand_in(source));
    return data::feeder_layout(*held, options);
  }

  Status plan_feeds() {
    planned_.feeding = feeder_options(job_, planned_.graphs.labels.dtype);
    PLIMSOLL_ASSIGN(planned_.train_feed,
                    feed_of(*data_.train, planned_.feeding));
    std::int64_t bytes = planned_.train_feed.total_bytes;
    if (data_.validation) {
      data::FeederOptions options = planned_.feeding;
      options.shuffle = false;
      PLIMSOLL_ASSIGN(planned_.validation_feed,
                      feed_of(*data_.validation, options));
      // The two never run at the same time: they share the memory.
      bytes = std::max(bytes, planned_.validation_feed.total_bytes);
    }
    plan::JobNeeds& needs = planned_.needs;
    needs.slots = planned_.train_feed.slots;
    needs.slot_bytes = planned_.train_feed.slot_bytes;
    needs.pipeline_bytes = bytes - needs.slots * needs.slot_bytes;
    needs.page_bytes = machine_.host().granularity_bytes();
    return {};
  }

  void set_runtime() {
    const DeviceProfile& profile = machine_.profile();
    planned_.needs.runtime_floor_bytes = profile.runtime_floor_bytes;
    planned_.needs.allowance_bytes = profile.allowance_bytes;
  }

  void estimate_times() {
    // About what one reader makes or copies a second, seen on a server core.
    constexpr double kRandomBytesPerSecond = 4e9;
    constexpr double kReadBytesPerSecond = 3e9;
    const auto& source = *data_.train;
    const double bytes =
        static_cast<double>(job_.train.batch * (source.features().bytes() +
                                                source.labels().bytes()));
    planned_.compute_seconds = planned_.plan.programs[0].compute_seconds;
    if (planned_.train_feed.borrows_all()) {
      planned_.input_seconds = 0;
    } else {
      planned_.input_seconds =
          bytes / (job_.data.source.type == "random" && !data_.resident
                       ? kRandomBytesPerSecond
                       : kReadBytesPerSecond);
    }
    planned_.step_seconds =
        planned_.feeding.prefetch
            ? std::max(planned_.compute_seconds, planned_.input_seconds)
            : planned_.compute_seconds + planned_.input_seconds;
  }

  const JobSpec& job_;
  const JobData& data_;
  Machine& machine_;
  PlannedJob planned_;
  std::vector<plan::ProgramPlan> plans_;
};

}  // namespace

int PlannedJob::find_program(const std::string& name) const {
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    if (plan.programs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Result<PlannedJob> plan_programs(const JobSpec& job, const JobData& data,
                                 Machine& machine) {
  if (job.train.batch < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("train.batch: must be at least 1, not {}",
                             job.train.batch)};
  }
  if (data.train->examples() < 1) {
    return Error{ErrorCode::bad_input,
                 data.train->describe() + ": there is no example in it"};
  }
  Result<PlannedJob> planned = Error{};
  // Candidates must be judged where they will run: with the arena's threads.
  machine.threads().enter(
      [&] { planned = JobPlanner(job, data, machine).run(); });
  return planned;
}

}  // namespace plimsoll::train
