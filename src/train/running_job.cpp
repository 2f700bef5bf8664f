#include "train/running_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "data/sets/resident_set.h"
#include "train/initial_state.h"
#include "train/precision.h"

namespace plimsoll::train {

RunningJob::RunningJob(const JobSpec& job, const PlannedJob& planned,
                       Machine& machine)
    : job_(job), planned_(planned), machine_(machine) {
  std::vector<std::string> names = {kLossSum};
  for (const std::string& metric : job.train.metrics) {
    names.push_back(metric_sum(metric));
  }
  for (const std::string& name : names) {
    if (const auto index = find_state(name)) {
      metric_offsets_.push_back(state_offset(*index));
    }
  }
  metrics_.resize(metric_offsets_.size());
}

Result<std::unique_ptr<RunningJob>> RunningJob::open(const JobSpec& job,
                                                     const PlannedJob& planned,
                                                     JobData& data,
                                                     Machine& machine) {
  std::unique_ptr<RunningJob> running(new RunningJob(job, planned, machine));
  running->data_ = &data;
  PLIMSOLL_RETURN_IF_ERROR(running->load_resident(data));
  PLIMSOLL_RETURN_IF_ERROR(running->charge_runtime());
  PLIMSOLL_ASSIGN(running->memory_, JobMemory::commit(planned.plan, machine));
  Status made;
  machine.threads().enter([&] { made = running->make_programs(); });
  PLIMSOLL_RETURN_IF_ERROR(made);
  PLIMSOLL_RETURN_IF_ERROR(running->make_feeders(data));
  machine.threads().enter([&] { made = running->run_each_once(data); });
  PLIMSOLL_RETURN_IF_ERROR(made);
  machine.threads().enter([&] { made = running->set_initial_state(); });
  PLIMSOLL_RETURN_IF_ERROR(made);
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

Status RunningJob::charge_runtime() {
  const auto charge = [&](const plan::SpaceForecast& forecast,
                          Space space) -> Status {
    constexpr auto kRuntime = static_cast<std::size_t>(Purpose::runtime);
    PLIMSOLL_ASSIGN(LedgerEntry entry, machine_.ledger().charge(
                                           {"process", Purpose::runtime, space,
                                            forecast.accounts[kRuntime]}));
    runtime_entries_.push_back(std::move(entry));
    return {};
  };
  PLIMSOLL_RETURN_IF_ERROR(charge(planned_.plan.host, Space::host));
  if (!planned_.plan.device) return {};
  return charge(*planned_.plan.device, Space::device);
}

Status RunningJob::make_programs() {
  for (std::size_t i = 0; i < planned_.programs.size(); ++i) {
    const PlannedProgram& program = planned_.programs[i];
    const plan::ProgramPlan& plan = planned_.plan.programs[i];
    runtime::ProgramMemory memory{memory_.programs(), &planned_.plan.arena,
                                  program.job_state};
    if (machine_.device() != nullptr) {
      memory.alignment_bytes = machine_.device_profile()->alignment_bytes;
      memory.host_arena = memory_.host();
      memory.host_layout = &planned_.plan.host_arena;
      PLIMSOLL_ASSIGN(auto placed, runtime::Program::place(
                                       program.lowered, plan, std::move(memory),
                                       machine_.kernels()));
      programs_.push_back(std::move(placed));
      continue;
    }
    PLIMSOLL_ASSIGN(auto made, runtime::Program::prepare(program.lowered, plan,
                                                         std::move(memory),
                                                         machine_.kernels()));
    programs_.push_back(std::move(made));
  }
  return {};
}

Status RunningJob::make_feeders(const JobData& data) {
  for (std::size_t i = 0; i < kStages; ++i) {
    if (!data.inputs[i]) continue;
    const Feed& feed = planned_.feeds[i];
    data::FeederOptions options = feed.options;
    if (static_cast<Stage>(i) != Stage::predict) {  // which reads no labels
      options.limits.push_back(
          {data.inputs[i]->labels, planned_.graphs.output.shape.extent(-1)});
    }
    for (const IndexColumns& columns : index_columns(job_.model)) {
      options.limits.push_back({data.inputs[i]->features, columns.rows, false,
                                columns.begin, columns.end});
    }
    PLIMSOLL_ASSIGN(feeders_[i],
                    data::BatchFeeder::create(
                        data.inputs[i]->input, options, feed.layout,
                        {memory_.staging(),
                         static_cast<std::size_t>(feed.layout.total_bytes)}));
  }
  return {};
}

// On zeroed memory: what is computed does not matter, that every kernel has
// faulted in its code and private memory does.
Status RunningJob::run_each_once(const JobData& data) {
  machine_.threads().warm_up();
  if (machine_.device() != nullptr) {
    PLIMSOLL_ASSIGN(
        cuda_, CudaJob::open(planned_, data, machine_, memory_, programs_));
    cuda_->set_samples(metric_offsets_);
    return {};
  }
  for (std::size_t i = 0; i < kStages; ++i) {
    if (!data.inputs[i]) continue;
    const StagePrograms& programs = planned_.stages[i];
    for (const int program : {programs.full, programs.tail}) {
      if (program < 0) continue;
      PLIMSOLL_RETURN_IF_ERROR(
          run_once(program, planned_.feeds[i], *data.inputs[i]));
    }
    if (programs.update >= 0) {
      // With 0 nothing would be updated, and less code would run.
      PLIMSOLL_RETURN_IF_ERROR(set_all(kGroupScale, 1));
      PLIMSOLL_RETURN_IF_ERROR(
          programs_[static_cast<std::size_t>(programs.update)]->run());
    }
  }
  return {};
}

Status RunningJob::run_once(int program, const Feed& feed,
                            const JobInput& input) {
  runtime::Program& code = *programs_[static_cast<std::size_t>(program)];
  int number = 0;
  for (const int field : {input.features, input.labels}) {
    const auto i = static_cast<std::size_t>(field);
    code.bind_input(number++,
                    feed.layout.borrowed[i]
                        ? input.input.set->borrow(field, 0)
                        : memory_.staging() + feed.layout.field_offsets[i]);
  }
  return code.run();
}

Status RunningJob::set_initial_state() {
  PLIMSOLL_RETURN_IF_ERROR(
      memory_.clear(0, planned_.plan.arena.staging_offset));
  if (memory_.host() != nullptr) {
    std::fill_n(memory_.host(), planned_.plan.host_arena.values_offset,
                std::byte{0});
  }
  // Statistics behind the parameters: which random numbers a parameter gets
  // depends on its position.
  std::vector<Parameter> all = planned_.graphs.parameters;
  all.insert(all.end(), planned_.graphs.statistics.begin(),
             planned_.graphs.statistics.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Parameter& parameter = all[i];
    const auto index = find_state(parameter.name);
    if (!index) continue;
    const DType dtype = planned_.needs.states[*index].type.dtype;
    PLIMSOLL_RETURN_IF_ERROR(fill_state(
        *index, [&](std::int64_t offset, std::span<std::byte> piece) {
          initialize(parameter, dtype, job_.train.seed, static_cast<int>(i),
                     offset / size_of(dtype), piece);
          return Status();
        }));
  }
  for (const StartValue& start : planned_.graphs.starts) {
    PLIMSOLL_RETURN_IF_ERROR(set_all(start.state, start.value));
  }
  examples_set_ = group_set_ = -1;
  PLIMSOLL_RETURN_IF_ERROR(set_all(kLossScale, kFirstLossScale));
  return set_all(kLearningRate, job_.train.optimizer.learning_rate);
}

Result<int> RunningJob::program_for(Stage stage, std::int64_t examples) const {
  const StagePrograms& programs = planned_.programs_of(stage);
  for (const int index : {programs.full, programs.tail}) {
    if (index < 0) continue;
    const auto& program = programs_[static_cast<std::size_t>(index)];
    if (program->plan().batch == examples) return index;
  }
  return Error{ErrorCode::internal,
               fmt::format("no {} program was planned for a batch of {}",
                           name_of(stage), examples)};
}

Status RunningJob::step(Stage stage, const data::Batch& batch) {
  PLIMSOLL_ASSIGN(const int index, program_for(stage, batch.examples));
  // How many examples a group will have is only known at its end: update()
  // makes up for the last one of an epoch.
  const std::int64_t shared = planned_.programs_of(stage).update >= 0
                                  ? group_examples()
                                  : batch.examples;
  if (stage == Stage::train && shared != examples_set_) {
    PLIMSOLL_RETURN_IF_ERROR(finish());
    PLIMSOLL_RETURN_IF_ERROR(
        set_all(kInverseExamples, 1.0 / static_cast<double>(shared)));
    examples_set_ = shared;
  }
  data::BatchFeeder& source = *feeder(stage);
  if (cuda_) return cuda_->step(index, planned_.feed(stage), batch, source);
  runtime::Program& program = *programs_[static_cast<std::size_t>(index)];
  const JobInput& input = data_->input(stage);
  program.bind_input(0, batch.field(input.features));
  program.bind_input(1, batch.field(input.labels));
  PLIMSOLL_RETURN_IF_ERROR(program.run());
  source.release(batch.slot);
  return {};
}

std::int64_t RunningJob::group_examples() const {
  return job_.train.batch * job_.train.accumulation_steps;
}

Status RunningJob::update(std::int64_t examples) {
  if (examples != group_set_) {
    PLIMSOLL_RETURN_IF_ERROR(finish());
    PLIMSOLL_RETURN_IF_ERROR(set_all(
        kGroupScale,
        static_cast<double>(group_examples()) / static_cast<double>(examples)));
    group_set_ = examples;
  }
  const int index = planned_.programs_of(Stage::train).update;
  if (cuda_) return cuda_->update(index);
  return programs_[static_cast<std::size_t>(index)]->run();
}

Status RunningJob::finish() { return cuda_ ? cuda_->finish() : Status(); }

Status RunningJob::read_prediction(std::int64_t examples,
                                   std::span<std::byte> out) {
  PLIMSOLL_RETURN_IF_ERROR(finish());
  PLIMSOLL_ASSIGN(const int index, program_for(Stage::predict, examples));
  const auto* made = static_cast<const std::byte*>(
      programs_[static_cast<std::size_t>(index)]->output(0));
  return memory_.read(made - memory_.programs(), out);
}

std::optional<std::size_t> RunningJob::find_state(std::string_view name) const {
  const auto& states = planned_.needs.states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].name == name) return i;
  }
  return std::nullopt;
}

std::int64_t RunningJob::state_offset(std::size_t index) const {
  const plan::JobPlan& plan = planned_.plan;
  return (planned_.needs.states[index].place == graph::Place::home
              ? plan.arena.state_offsets
              : plan.host_arena.state_offsets)[index];
}

std::byte* RunningJob::state_view(std::size_t index) const {
  const std::int64_t offset = state_offset(index);
  return planned_.needs.states[index].place == graph::Place::home
             ? memory_.view(offset)
             : memory_.host() + offset;
}

Result<std::span<const std::byte>> RunningJob::state_piece(std::size_t index,
                                                           std::int64_t offset,
                                                           std::int64_t bytes) {
  if (const std::byte* here = state_view(index)) {
    return std::span(here + offset, static_cast<std::size_t>(bytes));
  }
  const std::int64_t start = state_offset(index) + offset;
  const std::span<std::byte> room = memory_.bounce();
  const std::span<std::byte> piece =
      room.first(std::min(room.size(), static_cast<std::size_t>(bytes)));
  PLIMSOLL_RETURN_IF_ERROR(memory_.read(start, piece));
  return std::span<const std::byte>(piece);
}

Status RunningJob::fill_state(std::size_t index, const FillPiece& fill) {
  const std::int64_t bytes = planned_.needs.states[index].type.bytes();
  if (std::byte* here = state_view(index)) {
    return fill(0, {here, static_cast<std::size_t>(bytes)});
  }
  const std::int64_t start = state_offset(index);
  const std::span<std::byte> room = memory_.bounce();
  for (std::int64_t offset = 0; offset < bytes;) {
    const auto piece = room.first(
        std::min(room.size(), static_cast<std::size_t>(bytes - offset)));
    PLIMSOLL_RETURN_IF_ERROR(fill(offset, piece));
    PLIMSOLL_RETURN_IF_ERROR(memory_.write(start + offset, piece));
    offset += std::ssize(piece);
  }
  return {};
}

Status RunningJob::set_all(std::string_view name, double value) {
  const auto index = find_state(name);
  if (!index) return {};
  const DType dtype = planned_.needs.states[*index].type.dtype;
  return fill_state(*index, [&](std::int64_t, std::span<std::byte> bytes) {
    fill_with(bytes, dtype, value);
    return Status();
  });
}

Result<double> RunningJob::scalar(std::string_view name) {
  const auto index = find_state(name);
  if (!index) {
    return Error{ErrorCode::internal, fmt::format("no state `{}`", name)};
  }
  PLIMSOLL_RETURN_IF_ERROR(finish());
  const graph::TensorType& type = planned_.needs.states[*index].type;
  PLIMSOLL_ASSIGN(const auto bytes, state_piece(*index, 0, type.bytes()));
  if (type.dtype == DType::f64) {
    double value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<double>(value);
}

Result<std::span<const double>> RunningJob::metrics() {
  PLIMSOLL_RETURN_IF_ERROR(finish());
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(
        memory_.read(metric_offsets_[i],
                     std::as_writable_bytes(std::span(&metrics_[i], 1))));
  }
  return std::span<const double>(metrics_);
}

Result<Sample> RunningJob::recent_metrics(std::int64_t position) {
  if (cuda_) {
    PLIMSOLL_RETURN_IF_ERROR(cuda_->sample(position));
    return cuda_->sampled();
  }
  PLIMSOLL_ASSIGN(const auto sums, metrics());
  return Sample{sums, position};
}

Status RunningJob::set_metrics(std::span<const double> sums) {
  PLIMSOLL_RETURN_IF_ERROR(finish());
  if (cuda_) cuda_->drop_samples();
  for (std::size_t i = 0; i < metric_offsets_.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(
        memory_.write(metric_offsets_[i], std::as_bytes(sums.subspan(i, 1))));
  }
  return {};
}

Status RunningJob::clear_metrics() {
  std::fill(metrics_.begin(), metrics_.end(), 0.0);
  return set_metrics(metrics_);
}

std::int64_t RunningJob::recorded_height_bytes() const {
  std::int64_t height = 0;
  for (const auto& program : programs_) {
    height = std::max(height, program->recorded_height_bytes());
  }
  return height;
}

Status RunningJob::restore(const KeptStates& kept) {
  for (std::size_t i = 0; i < kept.states.size(); ++i) {
    const auto index = find_state(kept.states[i].name);
    if (!index) continue;
    const graph::TensorType& type = planned_.needs.states[*index].type;
    if (!kept.reads_as(i, type)) continue;
    PLIMSOLL_RETURN_IF_ERROR(fill_state(
        *index, [&](std::int64_t offset, std::span<std::byte> piece) {
          return kept.read_as(type.dtype, i, offset, piece);
        }));
  }
  examples_set_ = group_set_ = -1;
  return {};
}

Result<KeptStates> RunningJob::keep_states() && {
  const Status finished = finish();
  for (auto& feeder : feeders_) feeder.reset();
  cuda_.reset();
  programs_.clear();
  runtime_entries_.clear();
  PLIMSOLL_RETURN_IF_ERROR(finished);
  KeptStates kept;
  // Summed gradients of a group that was left stand behind all other states,
  // and are not kept.
  std::int64_t front = planned_.plan.arena.staging_offset;
  for (std::size_t i = 0; i < planned_.needs.states.size(); ++i) {
    const plan::StateNeed& state = planned_.needs.states[i];
    if (state.role == graph::Role::gradient) {
      if (state.place == graph::Place::home) {
        front = std::min(front, state_offset(i));
      }
      continue;
    }
    kept.states.push_back(state);
    kept.offsets.push_back(state_offset(i));
  }
  PLIMSOLL_RETURN_IF_ERROR(memory_.keep_front(
      front, planned_.plan.host_arena.values_offset, machine_.ledger()));
  kept.memory = std::move(memory_);
  return kept;
}

}  // namespace plimsoll::train
