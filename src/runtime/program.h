// A planned program, ready to run: kernels made, every address fixed.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/lowered.h"
#include "ops/kernel.h"
#include "plan/job_plan.h"

namespace plimsoll::runtime {

// Where a program's buffers lie.
struct ProgramMemory {
  std::byte* arena = nullptr;
  const plan::ArenaLayout* layout = nullptr;
  std::vector<int> job_state;  // by the program's state: index in the job
  std::int64_t alignment_bytes = plan::kBufferAlignment;  // of the plan
  // Of a program whose states lie apart: by the program's state. The layout has
  // no offsets for them then.
  std::vector<std::byte*> states = {};
  // Of what runs on the host beside a device.
  std::byte* host_arena = nullptr;
  const plan::HostLayout* host_layout = nullptr;
};

// One launch with its arguments laid out in the program's tables.
struct Launch {
  ops::Kernel* kernel = nullptr;
  const void** inputs = nullptr;
  void** outputs = nullptr;
  void* scratch = nullptr;
  int instruction = -1;
};

class Program {
 public:
  // Makes every kernel. `lowered` and `plan` must outlive the program. Without
  // an arena it must be moved to one before it runs.
  static Result<std::unique_ptr<Program>> prepare(
      const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
      ProgramMemory memory, const ops::KernelFactory& kernels);

  // For a device that launches in its own way: addresses alone, as prepare()
  // gives them.
  static std::unique_ptr<Program> place(const graph::LoweredGraph& lowered,
                                        const plan::ProgramPlan& plan,
                                        ProgramMemory memory);
  // The same, with the kernels of what runs on the host beside it.
  static Result<std::unique_ptr<Program>> place(
      const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
      ProgramMemory memory, const ops::KernelFactory& host_kernels);

  // From here on it runs in other memory, and has to be given its inputs again.
  void move(std::byte* arena, std::span<std::byte* const> states);

  // The memory that what runs at `place` reads input `index` from in the runs
  // that follow.
  void bind_input(int index, const void* data,
                  graph::Place place = graph::Place::home) noexcept;

  // Runs all instructions in the planned order; never allocates. The first
  // run also records the ranges it was given.
  Status run();
  // Runs the launches from `first` up to, not including, `last`.
  Status run(std::size_t first, std::size_t last);

  const void* output(int index) const;
  const void* state(int index) const;

  const std::string& name() const { return plan_.name; }
  const graph::LoweredGraph& lowered() const { return lowered_; }
  const plan::ProgramPlan& plan() const { return plan_; }
  const ProgramMemory& memory() const { return memory_; }
  std::span<const Launch> launches() const { return launches_; }

  // Notes the ranges that every launch is given; run() does it when it runs
  // for the first time.
  void record_ranges() noexcept;
  // Highest end, in a place's transient range, of any range a launch was given:
  // counted from types and addresses, not from the plan's sums.
  std::int64_t recorded_height_bytes(
      graph::Place place = graph::Place::home) const {
    return recorded_height_bytes_[static_cast<std::size_t>(place)];
  }

 private:
  Program(const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
          ProgramMemory memory)
      : lowered_(lowered), plan_(plan), memory_(std::move(memory)) {}

  Status make_kernels(const ops::KernelFactory& kernels, graph::Place place);
  std::byte* transient(graph::Place place) const;
  std::byte* address(graph::BufferId id) const;
  void fill_tables();
  void record(const Launch& launch) noexcept;

  struct InputSlot {
    int input;
    graph::Place place;
    std::size_t position;  // in input_table_
  };

  const graph::LoweredGraph& lowered_;
  const plan::ProgramPlan& plan_;
  ProgramMemory memory_;
  std::vector<std::unique_ptr<ops::Kernel>> made_;
  // By instruction: equal ones share theirs, since launches never overlap.
  std::vector<ops::Kernel*> kernels_;
  std::vector<const void*> input_table_;
  std::vector<void*> output_table_;
  std::vector<Launch> launches_;  // in the planned order
  std::vector<InputSlot> input_slots_;
  bool recorded_ = false;
  std::array<std::int64_t, 2> recorded_height_bytes_{};  // by place
};

}  // namespace plimsoll::runtime
