// A traced function for arguments of one size: planned, with its kernels, but
// without memory, which it takes for as long as it runs.
#pragma once

#include "plan/job_plan.h"
#include "plimsoll/tensor.h"
#include "runtime/eager/trace.h"
#include "runtime/program.h"

namespace plimsoll::runtime {

class PlannedCall {
 public:
  // `traced` must outlive the call. Errors name the node.
  static Result<std::unique_ptr<PlannedCall>> plan(const TracedGraph& traced,
                                                   std::int64_t batch,
                                                   Eager& eager,
                                                   const std::string& name);

  // The function's results; variables have their new values. Nothing has
  // changed where there was no memory for it.
  Result<Values> run(std::span<const Tensor> arguments);

  // What a run takes beside arguments, variables and results.
  std::int64_t arena_bytes() const;

 private:
  PlannedCall(const TracedGraph& traced, Eager& eager)
      : traced_(traced), eager_(eager) {}

  Status make_program(std::int64_t batch, const std::string& name);
  Status own_states();
  void bind(std::byte* arena, std::span<const Tensor> arguments);

  const TracedGraph& traced_;
  Eager& eager_;
  std::int32_t owner_ = 0;
  graph::LoweredGraph lowered_;
  plan::ProgramPlan plan_;
  plan::ArenaLayout layout_;
  graph::TypeList outputs_;
  std::unique_ptr<MovingProgram> program_;
  std::vector<std::byte*> states_;
  bool placed_ = false;         // whether it has run
  std::byte* arena_ = nullptr;  // where it ran last
};

}  // namespace plimsoll::runtime
