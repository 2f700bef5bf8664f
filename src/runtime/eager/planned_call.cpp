#include "runtime/eager/planned_call.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"
#include "graph/passes/recompute.h"
#include "graph/remembered_kernels.h"
#include "memory/capped_resource.h"
#include "ops/standard_ops.h"
#include "plan/validator.h"

namespace plimsoll::runtime {
namespace {

// What the planner itself may take.
constexpr std::int64_t kPlanningBytes = 256 * kMiB;

// As planned jobs do it.
constexpr graph::RecomputeLimits kRecompute = {0.03, 256 * kKiB};

// Memory for one run.
class RunArena {
 public:
  explicit RunArena(ValuePool& pool) : pool_(pool) {}
  ~RunArena() {
    if (block_.data) pool_.release(block_);
  }
  RunArena(const RunArena&) = delete;
  RunArena& operator=(const RunArena&) = delete;

  Status take(std::int64_t bytes, std::int32_t owner) {
    if (bytes == 0) return {};
    PLIMSOLL_ASSIGN(block_, pool_.allocate(bytes, owner));
    return {};
  }
  std::byte* data() const { return block_.data; }

 private:
  ValuePool& pool_;
  Block block_;
};

}  // namespace

Result<std::unique_ptr<PlannedCall>> PlannedCall::plan(
    const TracedGraph& traced, std::int64_t batch, Eager& eager,
    const std::string& name) {
  std::unique_ptr<PlannedCall> call(new PlannedCall(traced, eager));
  Status status;
  eager.threads().enter([&] { status = call->make_program(batch, name); });
  if (!status) return status.error();
  return call;
}

Status PlannedCall::make_program(std::int64_t batch, const std::string& name) {
  const graph::RememberedKernels kernels(eager_.kernels());
  PLIMSOLL_ASSIGN(lowered_, graph::lower(graph::recompute(traced_.graph, batch,
                                                          kernels, kRecompute),
                                         batch, kernels, ops::standard_ops()));
  HostMemorySource planning;
  CappedResource memory(planning, kPlanningBytes);
  PLIMSOLL_ASSIGN(plan_, plan::plan_program(lowered_, name, {&memory}));
  PLIMSOLL_RETURN_IF_ERROR(plan::validate(lowered_, plan_));
  PLIMSOLL_RETURN_IF_ERROR(charge_kernels(name));

  layout_.bytes = plan_.home.height_bytes;
  states_.assign(traced_.states.size(), nullptr);
  ProgramMemory places;
  places.layout = &layout_;
  places.states = states_;
  PLIMSOLL_ASSIGN(program_, Program::prepare(lowered_, plan_, std::move(places),
                                             eager_.kernels()));
  for (const graph::ValueId output : traced_.graph.outputs) {
    outputs_.push_back(traced_.graph.type(output).at(batch));
  }
  shares_ = std::any_of(
      lowered_.instructions.begin(), lowered_.instructions.end(),
      [](const auto& step) { return step.kernel.seconds > kSharedSeconds; });
  owner_ = eager_.pool().owner(name);
  return {};
}

// Equal instructions share a kernel; see Program.
Status PlannedCall::charge_kernels(const std::string& name) {
  std::set<std::string> known;
  std::int64_t bytes = 0;
  for (const graph::Instruction& step : lowered_.instructions) {
    if (!known.insert(step.kernel_identity()).second) continue;
    bytes += step.kernel.private_bytes;
  }
  if (bytes == 0) return {};
  PLIMSOLL_ASSIGN(kernels_,
                  eager_.ledger().charge({name + " (kernels)", Purpose::runtime,
                                          Space::host, bytes}));
  return {};
}

Status PlannedCall::own_states() {
  for (std::size_t i = 0; i < traced_.states.size(); ++i) {
    VariableCell& variable = *traced_.states[i];
    if (traced_.assigned[i]) {
      PLIMSOLL_RETURN_IF_ERROR(own_value(variable));
    }
  }
  return {};
}

void PlannedCall::bind(std::byte* arena, std::span<const Tensor> arguments) {
  bool moved = !placed_ || arena != arena_;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    std::byte* const now = traced_.states[i]->value->data;
    moved = moved || now != states_[i];
    states_[i] = now;
  }
  if (moved) program_->move(arena, states_);
  arena_ = arena;
  placed_ = true;
  int index = 0;
  for (const Tensor& argument : arguments) {
    program_->bind_input(index++, argument.value()->data);
  }
  for (const ValuePtr& value : traced_.captured) {
    program_->bind_input(index++, value->data);
  }
}

Status PlannedCall::launch() {
  // Small work stays on this thread; joining the others takes longer.
  if (!shares_) return program_->run();
  Status status;
  eager_.threads().enter([&] { status = program_->run(); });
  return status;
}

Result<Values> PlannedCall::run(std::span<const Tensor> arguments) {
  PLIMSOLL_RETURN_IF_ERROR(eager_.check_open());
  std::vector<std::shared_ptr<Value>> results;
  for (const graph::TensorType& type : outputs_) {
    PLIMSOLL_ASSIGN(auto result, eager_.make(type));
    results.push_back(std::move(result));
  }
  RunArena arena(eager_.pool());
  PLIMSOLL_RETURN_IF_ERROR(arena.take(arena_bytes(), owner_));
  PLIMSOLL_RETURN_IF_ERROR(own_states());
  bind(arena.data(), arguments);
  PLIMSOLL_RETURN_IF_ERROR(launch());
  Values values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::memcpy(results[i]->data, program_->output(static_cast<int>(i)),
                static_cast<std::size_t>(outputs_[i].bytes()));
    values.push_back(std::move(results[i]));
  }
  return values;
}

}  // namespace plimsoll::runtime
