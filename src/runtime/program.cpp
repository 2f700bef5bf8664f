#include "runtime/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/units.h"

namespace plimsoll::runtime {

using graph::BufferKind;
using graph::Instruction;

Result<std::unique_ptr<Program>> Program::prepare(
    const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
    ProgramMemory memory, const ops::KernelFactory& kernels) {
  std::unique_ptr<Program> program(
      new Program(lowered, plan, std::move(memory)));
  PLIMSOLL_RETURN_IF_ERROR(program->make_kernels(kernels, graph::Place::home));
  if (program->memory_.arena != nullptr) program->fill_tables();
  return program;
}

std::unique_ptr<Program> Program::place(const graph::LoweredGraph& lowered,
                                        const plan::ProgramPlan& plan,
                                        ProgramMemory memory) {
  std::unique_ptr<Program> program(
      new Program(lowered, plan, std::move(memory)));
  program->kernels_.assign(lowered.instructions.size(), nullptr);
  if (program->memory_.arena != nullptr) program->fill_tables();
  return program;
}

Result<std::unique_ptr<Program>> Program::place(
    const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
    ProgramMemory memory, const ops::KernelFactory& host_kernels) {
  std::unique_ptr<Program> program(
      new Program(lowered, plan, std::move(memory)));
  PLIMSOLL_RETURN_IF_ERROR(
      program->make_kernels(host_kernels, graph::Place::host));
  program->fill_tables();
  return program;
}

Status Program::make_kernels(const ops::KernelFactory& kernels,
                             graph::Place place) {
  std::map<std::string, ops::Kernel*> known;
  for (const Instruction& step : lowered_.instructions) {
    kernels_.push_back(nullptr);
    if (step.place != place || step.transfer) continue;
    ops::Kernel*& shared = known[step.kernel_identity()];
    kernels_.back() = shared;
    if (shared) continue;
    const graph::KernelQuery query{step.op, step.input_types, step.output_types,
                                   &step.attrs};
    auto kernel = kernels.create(query, step.kernel);
    if (!kernel) {
      Error error = std::move(kernel).error();
      error.message = step.name + ": " + error.message;
      return error;
    }
    made_.push_back(*std::move(kernel));
    kernels_.back() = shared = made_.back().get();
  }
  return {};
}

std::byte* Program::transient(graph::Place place) const {
  return place == graph::Place::home
             ? memory_.arena + memory_.layout->transient_offset
             : memory_.host_arena + memory_.host_layout->transient_offset;
}

std::byte* Program::address(graph::BufferId id) const {
  const graph::Buffer& buffer = lowered_.buffer(id);
  switch (buffer.kind) {
    case BufferKind::state: {
      if (!memory_.states.empty()) {
        return memory_.states[static_cast<std::size_t>(buffer.index)];
      }
      const auto job_state = static_cast<std::size_t>(
          memory_.job_state[static_cast<std::size_t>(buffer.index)]);
      return buffer.place == graph::Place::home
                 ? memory_.arena + memory_.layout->state_offsets[job_state]
                 : memory_.host_arena +
                       memory_.host_layout->state_offsets[job_state];
    }
    case BufferKind::transient:
      return transient(buffer.place) + plan_.buffer_offsets[id.pos()];
    case BufferKind::input:
      break;
  }
  return nullptr;  // bound before each run
}

void Program::move(std::byte* arena, std::span<std::byte* const> states) {
  memory_.arena = arena;
  std::copy(states.begin(), states.end(), memory_.states.begin());
  input_table_.clear();
  output_table_.clear();
  launches_.clear();
  input_slots_.clear();
  fill_tables();
}

void Program::fill_tables() {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const Instruction& step : lowered_.instructions) {
    inputs += step.inputs.size();
    outputs += step.outputs.size();
  }
  input_table_.reserve(inputs);
  output_table_.reserve(outputs);
  for (const std::int32_t index : plan_.order) {
    const auto position = static_cast<std::size_t>(index);
    const Instruction& step = lowered_.instructions[position];
    Launch launch;
    launch.kernel = kernels_[position];
    launch.instruction = index;
    launch.inputs = input_table_.data() + input_table_.size();
    launch.outputs = output_table_.data() + output_table_.size();
    for (const graph::BufferId id : step.inputs) {
      const graph::Buffer& buffer = lowered_.buffer(id);
      if (buffer.kind == BufferKind::input) {
        input_slots_.push_back({buffer.index, step.place, input_table_.size()});
      }
      input_table_.push_back(address(id));
    }
    for (const graph::BufferId id : step.outputs) {
      output_table_.push_back(address(id));
    }
    if (plan_.scratch_offsets[position] >= 0) {
      launch.scratch = transient(step.place) + plan_.scratch_offsets[position];
    }
    launches_.push_back(launch);
  }
}

void Program::bind_input(int index, const void* data,
                         graph::Place place) noexcept {
  for (const InputSlot& slot : input_slots_) {
    if (slot.input == index && slot.place == place) {
      input_table_[slot.position] = data;
    }
  }
}

Status Program::run() {
  if (!recorded_) record_ranges();
  return run(0, launches_.size());
}

Status Program::run(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const Launch& launch = launches_[i];
    const ops::LaunchArgs args{launch.inputs, launch.outputs, launch.scratch};
    if (launch.kernel->launch(args) != ops::LaunchStatus::ok) {
      const Instruction& step =
          lowered_.instructions[static_cast<std::size_t>(launch.instruction)];
      return Error{ErrorCode::device, fmt::format("{}: kernel {} failed",
                                                  step.name, step.kernel.name)};
    }
  }
  return {};
}

void Program::record_ranges() noexcept {
  for (const Launch& launch : launches_) record(launch);
  recorded_ = true;
}

void Program::record(const Launch& launch) noexcept {
  const Instruction& step =
      lowered_.instructions[static_cast<std::size_t>(launch.instruction)];
  struct Range {
    const std::byte* base;
    const std::byte* end;
    std::int64_t& height_bytes;
  };
  const plan::HostLayout* host = memory_.host_layout;
  const Range ranges[] = {
      {transient(graph::Place::home), memory_.arena + memory_.layout->bytes,
       recorded_height_bytes_[0]},
      {host ? transient(graph::Place::host) : nullptr,
       host ? memory_.host_arena + host->bytes : nullptr,
       recorded_height_bytes_[1]}};
  const auto note = [&](const void* start, std::int64_t bytes) {
    const auto* first = static_cast<const std::byte*>(start);
    for (const Range& range : ranges) {
      if (first < range.base || first >= range.end) continue;
      range.height_bytes = std::max<std::int64_t>(
          range.height_bytes,
          round_up(first + bytes - range.base, memory_.alignment_bytes));
    }
  };
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    note(launch.inputs[i], lowered_.buffer(step.inputs[i]).bytes);
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    note(launch.outputs[i], lowered_.buffer(step.outputs[i]).bytes);
  }
  if (launch.scratch) note(launch.scratch, step.kernel.scratch_bytes);
}

const void* Program::output(int index) const {
  return address(lowered_.outputs[static_cast<std::size_t>(index)]);
}

const void* Program::state(int index) const {
  return address(lowered_.states[static_cast<std::size_t>(index)]);
}

}  // namespace plimsoll::runtime
