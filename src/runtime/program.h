// A planned program, ready to run: kernels made, every address fixed.
#pragma once

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
  // Makes every kernel. `lowered` and `plan` must outlive the program.
  static Result<std::unique_ptr<Program>> prepare(
      const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
      ProgramMemory memory, const ops::KernelFactory& kernels);

  // Addresses only: for a device that launches in its own way.
  static std::unique_ptr<Program> place(const graph::LoweredGraph& lowered,
                                        const plan::ProgramPlan& plan,
                                        ProgramMemory memory);

  // The memory that input `index` is read from in the runs that follow.
  void bind_input(int index, const void* data) noexcept;

  // Runs all instructions in the planned order; never allocates. The first
  // run also records the ranges it was given.
  Status run();

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
  // Highest end, in the transient range, of any range a launch was given:
  // counted from types and addresses, not from the plan's sums.
  std::int64_t recorded_height_bytes() const { return recorded_height_bytes_; }

 private:
  Program(const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
          ProgramMemory memory)
      : lowered_(lowered), plan_(plan), memory_(std::move(memory)) {}

  std::byte* address(graph::BufferId id) const;
  void fill_tables();
  void record(const Launch& launch) noexcept;

  struct InputSlot {
    int input;
    std::size_t position;  // in input_table_
  };

  const graph::LoweredGraph& lowered_;
  const plan::ProgramPlan& plan_;
  ProgramMemory memory_;
  std::vector<std::unique_ptr<ops::Kernel>> kernels_;
  std::vector<const void*> input_table_;
  std::vector<void*> output_table_;
  std::vector<Launch> launches_;  // in the planned order
  std::vector<InputSlot> input_slots_;
  bool recorded_ = false;
  std::int64_t recorded_height_bytes_ = 0;
};

}  // namespace plimsoll::runtime
