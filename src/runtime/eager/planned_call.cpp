#include "runtime/eager/planned_call.h"

#include <algorithm>

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
constexpr std::int64_t kLeastPlanningBytes = kMiB;

std::byte* aligned(std::byte* start, std::int64_t alignment) {
  const auto at = reinterpret_cast<std::intptr_t>(start);
  return start + (round_up(at, alignment) - at);
}

}  // namespace

Result<std::unique_ptr<PlannedCall>> PlannedCall::plan(
    const TracedGraph& traced, std::int64_t batch, Eager& eager,
    const std::string& name) {
  PLIMSOLL_RETURN_IF_ERROR(eager.ensure_open());
  std::unique_ptr<PlannedCall> call(new PlannedCall(traced, eager));
  Status status;
  eager.backend().enter([&] { status = call->make_program(batch, name); });
  if (!status) return status.error();
  return call;
}

Status PlannedCall::make_program(std::int64_t batch, const std::string& name) {
  Backend& backend = eager_.backend();
  const graph::RememberedKernels kernels(backend.catalog());
  PLIMSOLL_ASSIGN(lowered_,
                  graph::lower(graph::recompute(traced_.graph, batch, kernels,
                                                graph::kMadeAgain),
                               batch, kernels, ops::standard_ops()));
  // What is free goes back first; planning has what is left under the line.
  if (eager_.ledger().room_bytes(Space::host) < kPlanningBytes) {
    eager_.pool().trim();
  }
  // At least this much: an error that carries the ledger where there is less.
  PLIMSOLL_ASSIGN(
      const LedgerEntry least,
      eager_.ledger().charge({name + " (planning)", Purpose::runtime,
                              Space::host, kLeastPlanningBytes}));
  HostMemorySource planning;
  CappedResource memory(
      planning,
      kLeastPlanningBytes +
          std::min(kPlanningBytes, eager_.ledger().room_bytes(Space::host)));
  PLIMSOLL_ASSIGN(
      plan_,
      plan::plan_program(lowered_, name, {&memory, backend.alignment_bytes()}));
  PLIMSOLL_RETURN_IF_ERROR(
      plan::validate(lowered_, plan_, backend.alignment_bytes()));

  layout_.bytes = plan_.home.height_bytes;
  states_.assign(traced_.states.size(), nullptr);
  ProgramMemory places;
  places.layout = &layout_;
  places.states = states_;
  PLIMSOLL_ASSIGN(program_, backend.prepare(lowered_, plan_, std::move(places),
                                            eager_.kernel_bytes()));
  for (const graph::ValueId output : traced_.graph.outputs) {
    outputs_.push_back(traced_.graph.type(output).at(batch));
  }
  owner_ = eager_.pool().owner(name);
  return {};
}

// Blocks of the pool begin at multiples of 64 bytes.
std::int64_t PlannedCall::arena_bytes() const {
  const std::int64_t gap =
      eager_.backend().alignment_bytes() - plan::kBufferAlignment;
  return plan_.home.height_bytes == 0 ? 0 : plan_.home.height_bytes + gap;
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
  if (moved) program_->program().move(arena, states_);
  arena_ = arena;
  placed_ = true;
  int index = 0;
  for (const Tensor& argument : arguments) {
    program_->program().bind_input(index++, argument.value()->data);
  }
  for (const ValuePtr& value : traced_.captured) {
    program_->program().bind_input(index++, value->data);
  }
}

Result<Values> PlannedCall::run(std::span<const Tensor> arguments) {
  PLIMSOLL_RETURN_IF_ERROR(eager_.ensure_open());
  std::vector<std::shared_ptr<Value>> results;
  for (const graph::TensorType& type : outputs_) {
    PLIMSOLL_ASSIGN(auto result, eager_.make(type));
    results.push_back(std::move(result));
  }
  PLIMSOLL_ASSIGN(const Block block, eager_.allocate(arena_bytes(), owner_));
  const HeldBlock arena(eager_.pool(), block);
  PLIMSOLL_RETURN_IF_ERROR(own_states());
  bind(aligned(arena.data(), eager_.backend().alignment_bytes()), arguments);
  PLIMSOLL_RETURN_IF_ERROR(program_->run());
  Values values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const void* const made = program_->program().output(static_cast<int>(i));
    PLIMSOLL_RETURN_IF_ERROR(
        eager_.copy_bytes(results[i]->data, static_cast<const std::byte*>(made),
                          outputs_[i].bytes()));
    values.push_back(std::move(results[i]));
  }
  return values;
}

}  // namespace plimsoll::runtime
