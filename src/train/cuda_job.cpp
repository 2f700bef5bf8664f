#include "train/cuda_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/units.h"
#include "train/library_work.h"

namespace plimsoll::train {
namespace {

constexpr std::uint32_t kNoMark = ~std::uint32_t{0};

constexpr std::uint64_t kFaultyStep = 2;

// Processes that compile kernels at once: one as ever, more where the job
// leaves so much of the host's budget for each.
int compilers(Machine& machine) {
  constexpr std::int64_t kCompilerBytes = 320 * kMiB;
  constexpr std::int64_t kMost = 8;
  const std::int64_t room =
      machine.ledger().room_bytes(Space::host) / kCompilerBytes;
  return static_cast<int>(std::clamp<std::int64_t>(
      room, 1, std::clamp<std::int64_t>(machine.profile().threads, 1, kMost)));
}

}  // namespace

Result<std::unique_ptr<CudaJob>> CudaJob::open(
    const PlannedJob& planned, const JobData& data, Machine& machine,
    JobMemory& memory,
    std::span<const std::unique_ptr<runtime::Program>> programs) {
  std::unique_ptr<CudaJob> job(
      new CudaJob(planned, data, *machine.device(), memory, programs));
  PLIMSOLL_RETURN_IF_ERROR(job->make_streams());
  if (auto prepared = job->prepare(machine); !prepared) {
    Error error = std::move(prepared).error();
    // The plan had a kernel for it: that it does not run is the device's.
    if (error.code == ErrorCode::unsupported) error.code = ErrorCode::device;
    return error;
  }
  PLIMSOLL_RETURN_IF_ERROR(job->plant_fault());
  PLIMSOLL_RETURN_IF_ERROR(job->warm_driver());
  return job;
}

CudaJob::~CudaJob() { static_cast<void>(finish()); }

Status CudaJob::make_streams() {
  for (auto* stream : {&compute_, &upload_}) {
    PLIMSOLL_ASSIGN(*stream, device_.make_stream());
  }
  slots_.resize(static_cast<std::size_t>(planned_.needs.device->input_slots));
  for (Slot& slot : slots_) {
    PLIMSOLL_ASSIGN(slot.copied, device_.make_event());
    PLIMSOLL_ASSIGN(slot.done, device_.make_event());
  }
  for (auto& event : arrived_) {
    PLIMSOLL_ASSIGN(event, device_.make_event());
  }
  return {};
}

// The driver's rings of commands are memory of this process, touched as they
// are first used: after some 12,000 steps, seen. That is done here, with steps
// that do nothing, so that memory stands still later.
Status CudaJob::warm_driver() {
  constexpr int kSteps = 16384;
  constexpr int kLaunches = 8;
  PLIMSOLL_ASSIGN(
      CudaKernel* const nothing,
      device_.load("extern \"C\" __global__ void run(void* p0) {}\n"));
  void* pointer = memory_.programs();
  PLIMSOLL_ASSIGN(const auto recording,
                  device_.record(*compute_, [&]() -> Status {
                    for (int i = 0; i < kLaunches; ++i) {
                      PLIMSOLL_RETURN_IF_ERROR(
                          nothing->launch(*compute_, 1, {&pointer, 1}));
                    }
                    return {};
                  }));
  for (int i = 0; i < kSteps; ++i) {
    const std::size_t number = static_cast<std::size_t>(i) % slots_.size();
    const Slot& slot = slots_[number];
    PLIMSOLL_RETURN_IF_ERROR(upload_->wait(*slot.done));
    PLIMSOLL_RETURN_IF_ERROR(upload_->copy(
        input_slot(number), memory_.staging(),
        std::min<std::int64_t>(planned_.needs.device->input_slot_bytes, 4096),
        CopyDirection::to_device));
    PLIMSOLL_RETURN_IF_ERROR(upload_->record(*slot.copied));
    PLIMSOLL_RETURN_IF_ERROR(compute_->wait(*slot.copied));
    PLIMSOLL_RETURN_IF_ERROR(recording->launch(*compute_));
    PLIMSOLL_RETURN_IF_ERROR(compute_->record(*slot.done));
    if (number == 0) PLIMSOLL_RETURN_IF_ERROR(slot.copied->synchronize());
  }
  return finish();
}

std::byte* CudaJob::input_slot(std::size_t slot) const {
  return memory_.programs() + planned_.plan.arena.staging_offset +
         static_cast<std::int64_t>(slot) *
             planned_.needs.device->input_slot_bytes;
}

Stage CudaJob::stage_of(int program) const {
  std::size_t stage = 0;
  while (planned_.stages[stage].full != program &&
         planned_.stages[stage].tail != program &&
         planned_.stages[stage].update != program) {
    ++stage;
  }
  return static_cast<Stage>(stage);
}

// Fields lie in a slot of the device as they do in the feeder's.
void CudaJob::bind(runtime::Program& program, Stage stage,
                   const std::byte* batch, graph::Place place) const {
  if (program.lowered().inputs.empty()) return;
  const JobInput& input = data_.input(stage);
  const auto& offsets = planned_.feed(stage).layout.field_offsets;
  int number = 0;
  for (const int field : {input.features, input.labels}) {
    program.bind_input(number++,
                       batch + offsets[static_cast<std::size_t>(field)], place);
  }
}

std::vector<CudaJob::Part> CudaJob::split(const runtime::Program& program) {
  std::vector<Part> parts;
  const auto launches = program.launches();
  const auto on_host = [&](std::size_t number) {
    return program.lowered()
        .instructions[static_cast<std::size_t>(launches[number].instruction)]
        .runs_on_host();
  };
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (i == 0 || on_host(i) != parts.back().on_host) {
      parts.emplace_back().first = i;
      parts.back().on_host = on_host(i);
    }
    parts.back().last = i + 1;
  }
  return parts;
}

Status CudaJob::prepare(Machine& machine) {
  PLIMSOLL_RETURN_IF_ERROR(make_mark(machine));
  std::vector<cuda::Stage> work;
  for (const auto& placed : programs_) {
    PLIMSOLL_RETURN_IF_ERROR(
        add_library_work(placed->lowered(), machine.cuda_catalog(), work));
  }
  // Where that fails it fails again below, with the name of the op.
  const auto compiled = compile_layers(device_, work);
  std::uint32_t mark = 0;
  for (const auto& placed : programs_) {
    runtime::Program& program = *placed;
    const Stage stage = stage_of(static_cast<int>(parts_.size()));
    bind(program, stage, input_slot(0), graph::Place::home);
    bind(program, stage, memory_.staging(), graph::Place::host);
    parts_.push_back(split(program));
    program.record_ranges();
    for (Part& part : parts_.back()) {
      if (part.on_host) {
        PLIMSOLL_RETURN_IF_ERROR(run_on_host(part, program));
        continue;
      }
      const auto launches =
          program.launches().subspan(part.first, part.last - part.first);
      PLIMSOLL_ASSIGN(part.launches,
                      runtime::CudaProgram::prepare(
                          program, launches, machine.cuda_catalog(), device_,
                          {mark_on_device_, mark}, {}, compilers(machine)));
      part.first_mark = mark;
      mark += static_cast<std::uint32_t>(part.launches->launches());
      // One by one first: what is wrong then has a name.
      PLIMSOLL_RETURN_IF_ERROR(part.launches->enqueue_checked(*compute_));
      PLIMSOLL_RETURN_IF_ERROR(record(part, program, stage));
    }
  }
  return finish();
}

Status CudaJob::record(Part& part, runtime::Program& program, Stage stage) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    bind(program, stage, input_slot(slot), graph::Place::home);
    PLIMSOLL_ASSIGN(auto recording, device_.record(*compute_, [&] {
      return part.launches->enqueue(*compute_);
    }));
    PLIMSOLL_RETURN_IF_ERROR(recording->launch(*compute_));
    part.recordings.push_back(std::move(recording));
  }
  return {};
}

Status CudaJob::make_mark(Machine& machine) {
  if (!machine.pins_memory()) return {};
  // Between what is sampled and what goes to files.
  constexpr std::int64_t kLine = 64;
  mark_ = reinterpret_cast<std::uint32_t*>(memory_.values() +
                                           plan::kValuesBytes / 2 - kLine);
  *mark_ = kNoMark;
  PLIMSOLL_ASSIGN(mark_on_device_, device_.seen_from_device(mark_));
  return {};
}

// The ops of a launch, and of those behind it that say nothing when they start:
// round the program's parts, since the next step may have begun.
std::string CudaJob::ops_from(const std::vector<Part>& parts,
                              std::uint32_t mark) {
  std::string names;
  std::vector<std::pair<const runtime::CudaProgram*, std::size_t>> launches;
  std::size_t begun = 0;
  for (const Part& part : parts) {
    if (!part.launches) continue;
    for (std::size_t i = 0; i < part.launches->launches(); ++i) {
      if (part.first_mark + i == mark) begun = launches.size();
      launches.emplace_back(part.launches.get(), i);
    }
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto& [program, number] = launches[(begun + i) % launches.size()];
    if (i > 0 && program->says_when_it_starts(number)) break;
    names += (i > 0 ? " or " : "") + program->ops_of(number);
  }
  return names;
}

Status CudaJob::blame(Status status) const {
  if (status || mark_ == nullptr || status.error().code != ErrorCode::device) {
    return status;
  }
  // Fixed pages can be read whatever has become of the device.
  const std::uint32_t mark = *static_cast<volatile std::uint32_t*>(mark_);
  if (mark == kNoMark) return status;
  for (const auto& parts : parts_) {
    const bool begun =
        std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
          return part.launches && mark >= part.first_mark &&
                 mark - part.first_mark < part.launches->launches();
        });
    if (!begun) continue;
    Error error = std::move(status).error();
    error.message += fmt::format("; the last that began on the device: {}",
                                 ops_from(parts, mark));
    return error;
  }
  return status;
}

Status CudaJob::plant_fault() {
  const char* const op = std::getenv(kPlantVariable);
  const int program = planned_.programs_of(Stage::train).full;
  if (op == nullptr || *op == '\0' || program < 0) return {};
  const auto number = static_cast<std::size_t>(program);
  bind(*programs_[number], Stage::train, input_slot(0), graph::Place::home);
  bool planted = false;
  for (Part& part : parts_[number]) {
    if (!part.launches || !part.launches->runs(op)) continue;
    PLIMSOLL_ASSIGN(part.faulty, device_.record(*compute_, [&] {
      return part.launches->enqueue_faulty(op, *compute_);
    }));
    planted = true;
  }
  if (planted) return {};
  return Error{
      ErrorCode::bad_input,
      fmt::format("{}: no launch of the program has {}", kPlantVariable, op)};
}

// What the device has sent must have arrived, and what it reads of the host's
// must have been read.
Status CudaJob::run_on_host(const Part& part, runtime::Program& program) {
  PLIMSOLL_RETURN_IF_ERROR(compute_->synchronize());
  if (auto ran = program.run(part.first, part.last); !ran) {
    Error error = std::move(ran).error();
    error.code = ErrorCode::internal;  // the host's: nothing to blame there
    return error;
  }
  return {};
}

Status CudaJob::step(int program, const Feed& feed, const data::Batch& batch,
                     data::BatchFeeder& feeder) {
  return blame(enqueue(program, feed, batch, feeder));
}

// The recordings of all slots are the same: nothing in it is a batch's.
Status CudaJob::update(int program) {
  return blame(run(program, 0, memory_.staging()));
}

Status CudaJob::enqueue(int program, const Feed& feed, const data::Batch& batch,
                        data::BatchFeeder& feeder) {
  const auto number = static_cast<std::size_t>(steps_ % slots_.size());
  Slot& slot = slots_[number];
  if (steps_ - released_ == slots_.size()) {
    PLIMSOLL_RETURN_IF_ERROR(release_oldest());
  }
  PLIMSOLL_RETURN_IF_ERROR(upload_->wait(*slot.done));
  // The slot as a whole: two copies of a batch cost twice the start of one.
  const std::byte* from =
      memory_.staging() + batch.slot * feed.layout.slot_bytes;
  PLIMSOLL_RETURN_IF_ERROR(upload_->copy(input_slot(number), from,
                                         feed.layout.slot_bytes,
                                         CopyDirection::to_device));
  PLIMSOLL_RETURN_IF_ERROR(upload_->record(*slot.copied));
  PLIMSOLL_RETURN_IF_ERROR(compute_->wait(*slot.copied));
  PLIMSOLL_RETURN_IF_ERROR(run(program, number, from));
  PLIMSOLL_RETURN_IF_ERROR(compute_->record(*slot.done));
  slot.feeder = &feeder;
  slot.feeder_slot = batch.slot;
  ++steps_;
  // Readers must never wait for a slot that only the next step would release.
  const int most =
      std::max(0, feed.layout.slots - std::max(1, feed.layout.readers));
  while (released_ < steps_) {
    const auto oldest = static_cast<std::size_t>(released_ % slots_.size());
    if (steps_ - released_ <= static_cast<std::uint64_t>(most) &&
        !slots_[oldest].copied->done()) {
      break;
    }
    PLIMSOLL_RETURN_IF_ERROR(release_oldest());
  }
  return {};
}

Status CudaJob::run(int program, std::size_t slot, const std::byte* batch) {
  const auto index = static_cast<std::size_t>(program);
  const std::vector<Part>& parts = parts_[index];
  for (const Part& part : parts) {
    if (part.on_host) {
      bind(*programs_[index], stage_of(program), batch, graph::Place::host);
      PLIMSOLL_RETURN_IF_ERROR(run_on_host(part, *programs_[index]));
      continue;
    }
    const bool fails = part.faulty && steps_ == kFaultyStep;
    PLIMSOLL_RETURN_IF_ERROR(
        (fails ? part.faulty : part.recordings[slot])->launch(*compute_));
  }
  return {};
}

Status CudaJob::release_oldest() {
  Slot& slot = slots_[static_cast<std::size_t>(released_ % slots_.size())];
  ++released_;
  Status copied = slot.copied->synchronize();
  slot.feeder->release(slot.feeder_slot);
  return copied;
}

Status CudaJob::finish() {
  Status status;
  while (released_ < steps_) {
    Status released = release_oldest();
    if (status) status = std::move(released);
  }
  for (auto* stream : {&upload_, &compute_}) {
    if (!*stream) continue;
    Status done = (*stream)->synchronize();
    if (status) status = std::move(done);
  }
  return blame(std::move(status));
}

void CudaJob::set_samples(std::span<const std::int64_t> offsets) {
  sample_offsets_.assign(offsets.begin(), offsets.end());
  samples_ = {reinterpret_cast<double*>(memory_.values()), offsets.size()};
}

Status CudaJob::sample(std::int64_t position) {
  // All under way: the newest of them will do.
  if (!samples_.next()) sampled();
  const auto number = samples_.next();
  if (!number) return {};
  double* to = samples_.slot(*number);
  // Among the steps: beside them, a later one may have added to a sum.
  const auto copy = [&]() -> Status {
    for (const std::int64_t offset : sample_offsets_) {
      PLIMSOLL_RETURN_IF_ERROR(compute_->copy(to++, memory_.programs() + offset,
                                              sizeof(double),
                                              CopyDirection::to_host));
    }
    return compute_->record(*arrived_[*number]);
  };
  PLIMSOLL_RETURN_IF_ERROR(blame(copy()));
  samples_.ask(position);
  return {};
}

Sample CudaJob::sampled() {
  return samples_.newest(
      [&](std::size_t number) { return arrived_[number]->done(); });
}

}  // namespace plimsoll::train
