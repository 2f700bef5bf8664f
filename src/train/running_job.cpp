#include "train/running_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "data/sets/resident_set.h"
#include "train/initial_state.h"

namespace plimsoll::train {

Result<std::unique_ptr<RunningJob>> RunningJob::open(const JobSpec& job,
                                                     const PlannedJob& planned,
                                                     JobData& data,
                                                     Machine& machine) {
  std::unique_ptr<RunningJob> running(new RunningJob(job, planned, machine));
  running->data_ = &data;
  PLIMSOLL_RETURN_IF_ERROR(running->load_resident(data));
  PLIMSOLL_RETURN_IF_ERROR(running->commit());
  Status made;
  machine.threads().enter([&] { made = running->make_programs(); });
  PLIMSOLL_RETURN_IF_ERROR(made);
  PLIMSOLL_RETURN_IF_ERROR(running->make_feeders(data));
  machine.threads().enter([&] { made = running->run_each_once(data); });
  PLIMSOLL_RETURN_IF_ERROR(made);
  running->set_initial_state();
  return running;
}

RunningJob::~RunningJob() = default;

Status RunningJob::load_resident(JobData& data) {
  if (!data.resident) return {};
  for (std::size_t i = 0; i < kStages; ++i) {
    if (!data.sources[i]) continue;
    PLIMSOLL_ASSIGN(data.sources[i],
                    data::ResidentSet::load(*data.sources[i], machine_.host(),
                                            machine_.ledger()));
    PLIMSOLL_ASSIGN(data.inputs[i], pipe(job_, static_cast<Stage>(i),
                                         machine_.profile().threads,
                                         data::source_over(data.sources[i])));
  }
  return {};
}

Status RunningJob::commit() {
  const auto& accounts = planned_.plan.host.accounts;
  const auto bytes_of = [&](Purpose purpose) {
    return accounts[static_cast<std::size_t>(purpose)];
  };
  PLIMSOLL_ASSIGN(runtime_entry_, machine_.ledger().charge(
                                      {"process", Purpose::runtime, Space::host,
                                       bytes_of(Purpose::runtime)}));
  std::vector<Holding> holdings;
  for (int i = 0; i < kPurposes; ++i) {
    const auto purpose = static_cast<Purpose>(i);
    if (purpose == Purpose::runtime || purpose == Purpose::user) continue;
    if (bytes_of(purpose) == 0) continue;
    holdings.push_back({"job", purpose, Space::host, bytes_of(purpose)});
  }
  PLIMSOLL_ASSIGN(arena_,
                  Arena::commit(machine_.host(), machine_.ledger(), holdings));
  return {};
}

Status RunningJob::make_programs() {
  for (std::size_t i = 0; i < planned_.programs.size(); ++i) {
    const PlannedProgram& program = planned_.programs[i];
    PLIMSOLL_ASSIGN(
        auto made, runtime::Program::prepare(
                       program.lowered, planned_.plan.programs[i],
                       {arena_.data(), &planned_.plan.arena, program.job_state},
                       machine_.kernels()));
    programs_.push_back(std::move(made));
  }
  return {};
}

Status RunningJob::make_feeders(const JobData& data) {
  std::byte* start = arena_.data() + planned_.plan.arena.staging_offset;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (!data.inputs[i]) continue;
    const Feed& feed = planned_.feeds[i];
    data::FeederOptions options = feed.options;
    options.class_field = data.inputs[i]->labels;
    options.classes = planned_.graphs.output.shape.extent(-1);
    PLIMSOLL_ASSIGN(
        feeders_[i],
        data::BatchFeeder::create(
            data.inputs[i]->input, options, feed.layout,
            {start, static_cast<std::size_t>(feed.layout.total_bytes)}));
  }
  return {};
}

// On zeroed memory: what is computed does not matter, that every kernel has
// faulted in its code and private memory does.
Status RunningJob::run_each_once(const JobData& data) {
  machine_.threads().warm_up();
  for (std::size_t i = 0; i < kStages; ++i) {
    if (!data.inputs[i]) continue;
    const StagePrograms& programs = planned_.stages[i];
    for (const int program : {programs.full, programs.tail}) {
      if (program < 0) continue;
      PLIMSOLL_RETURN_IF_ERROR(
          run_once(program, planned_.feeds[i], *data.inputs[i]));
    }
  }
  return {};
}

Status RunningJob::run_once(int program, const Feed& feed,
                            const JobInput& input) {
  runtime::Program& code = *programs_[static_cast<std::size_t>(program)];
  const std::byte* slot = arena_.data() + planned_.plan.arena.staging_offset;
  int number = 0;
  for (const int field : {input.features, input.labels}) {
    const auto i = static_cast<std::size_t>(field);
    code.bind_input(number++, feed.layout.borrowed[i]
                                  ? input.input.set->borrow(field, 0)
                                  : slot + feed.layout.field_offsets[i]);
  }
  return code.run();
}

void RunningJob::set_initial_state() {
  std::memset(arena_.data(), 0,
              static_cast<std::size_t>(planned_.plan.arena.staging_offset));
  for (std::size_t i = 0; i < planned_.graphs.parameters.size(); ++i) {
    const Parameter& parameter = planned_.graphs.parameters[i];
    initialize(parameter, job_.train.precision, job_.train.seed,
               static_cast<int>(i), state(parameter.name));
  }
  set_scalar(state(kLearningRate), job_.train.precision,
             job_.train.optimizer.learning_rate);
  examples_set_ = -1;
}

Result<runtime::Program*> RunningJob::program_for(Stage stage,
                                                  std::int64_t examples) const {
  const StagePrograms& programs = planned_.programs_of(stage);
  for (const int index : {programs.full, programs.tail}) {
    if (index < 0) continue;
    runtime::Program* program =
        programs_[static_cast<std::size_t>(index)].get();
    if (program->plan().batch == examples) return program;
  }
  return Error{ErrorCode::internal,
               fmt::format("no {} program was planned for a batch of {}",
                           name_of(stage), examples)};
}

Status RunningJob::step(Stage stage, const data::Batch& batch) {
  if (stage == Stage::train && batch.examples != examples_set_) {
    set_scalar(state(kInverseExamples), job_.train.precision,
               1.0 / static_cast<double>(batch.examples));
    examples_set_ = batch.examples;
  }
  PLIMSOLL_ASSIGN(runtime::Program* const program,
                  program_for(stage, batch.examples));
  const JobInput& input = data_->input(stage);
  program->bind_input(0, batch.field(input.features));
  program->bind_input(1, batch.field(input.labels));
  return program->run();
}

const void* RunningJob::prediction(std::int64_t examples) const {
  const auto program = program_for(Stage::predict, examples);
  return program ? (*program)->output(0) : nullptr;
}

std::span<std::byte> RunningJob::state_at(std::size_t index) {
  return {arena_.data() + planned_.plan.arena.state_offsets[index],
          static_cast<std::size_t>(planned_.needs.states[index].type.bytes())};
}

std::span<std::byte> RunningJob::state(std::string_view name) {
  const auto& states = planned_.needs.states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].name == name) return state_at(i);
  }
  return {};
}

double RunningJob::metric(std::string_view name) {
  double sum = 0;
  const auto bytes = state(name);
  if (bytes.size() == sizeof(sum)) {
    std::memcpy(&sum, bytes.data(), sizeof(sum));
  }
  return sum;
}

void RunningJob::set_metric(std::string_view name, double sum) {
  const auto bytes = state(name);
  if (bytes.size() == sizeof(sum)) {
    std::memcpy(bytes.data(), &sum, sizeof(sum));
  }
}

void RunningJob::clear_metrics() {
  for (std::size_t i = 0; i < planned_.needs.states.size(); ++i) {
    if (planned_.needs.states[i].role != graph::Role::metric) continue;
    const auto bytes = state_at(i);
    std::memset(bytes.data(), 0, bytes.size());
  }
}

std::int64_t RunningJob::recorded_height_bytes() const {
  std::int64_t height = 0;
  for (const auto& program : programs_) {
    height = std::max(height, program->recorded_height_bytes());
  }
  return height;
}

std::span<const std::byte> KeptStates::find(std::string_view name) const {
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].name != name) continue;
    return {arena.data() + offsets[i],
            static_cast<std::size_t>(states[i].type.bytes())};
  }
  return {};
}

void RunningJob::restore(const KeptStates& kept) {
  const auto& states = planned_.needs.states;
  for (std::size_t i = 0; i < kept.states.size(); ++i) {
    for (std::size_t k = 0; k < states.size(); ++k) {
      if (states[k].name != kept.states[i].name ||
          !(states[k].type == kept.states[i].type)) {
        continue;
      }
      const auto to = state_at(k);
      std::memcpy(to.data(), kept.arena.data() + kept.offsets[i], to.size());
    }
  }
  examples_set_ = -1;
}

Result<KeptStates> RunningJob::keep_states() && {
  for (auto& feeder : feeders_) feeder.reset();
  programs_.clear();
  runtime_entry_.release();
  KeptStates kept;
  kept.states = planned_.needs.states;
  kept.offsets = planned_.plan.arena.state_offsets;
  PLIMSOLL_RETURN_IF_ERROR(
      arena_.shrink_to(planned_.plan.arena.staging_offset, machine_.ledger(),
                       {"model", Purpose::parameters, Space::host, 0}));
  kept.arena = std::move(arena_);
  return kept;
}

}  // namespace plimsoll::train
