#include "train/planned_step.h"

#include "base/units.h"
#include "ops/standard_ops.h"

namespace plimsoll::train::testing {

Result<std::unique_ptr<PlannedStep>> prepare_step(const RandomNetwork& network,
                                                  Machine& machine) {
  auto step = std::make_unique<PlannedStep>();
  PLIMSOLL_ASSIGN(step->lowered,
                  graph::lower(network.graph, network.batch, machine.kernels(),
                               ops::standard_ops()));
  PLIMSOLL_ASSIGN(auto program, plan::plan_program(step->lowered, "train"));
  PLIMSOLL_RETURN_IF_ERROR(plan::validate(step->lowered, program));
  for (const graph::State& state : network.graph.states) {
    step->job_state.push_back(static_cast<int>(step->needs.states.size()));
    step->needs.states.push_back(
        {state.name, state.role, network.graph.type(state.value)});
  }
  std::vector<std::int64_t> input_offsets;
  for (const graph::BufferId input : step->lowered.inputs) {
    input_offsets.push_back(step->needs.slot_bytes);
    step->needs.slot_bytes +=
        round_up(step->lowered.buffer(input).bytes, plan::kBufferAlignment);
  }
  PLIMSOLL_ASSIGN(step->plan,
                  plan::lay_out(step->needs, {std::move(program)}, "test"));
  std::vector<Holding> holdings;
  for (int i = 0; i < kPurposes; ++i) {
    holdings.push_back({"test", static_cast<Purpose>(i), Space::host,
                        step->plan.host.accounts[std::size_t(i)]});
  }
  PLIMSOLL_ASSIGN(step->arena,
                  Arena::commit(machine.host(), machine.ledger(), holdings));
  PLIMSOLL_ASSIGN(step->program,
                  runtime::Program::prepare(
                      step->lowered, step->plan.programs[0],
                      {step->arena.data(), &step->plan.arena, step->job_state},
                      machine.kernels()));
  for (std::size_t i = 0; i < input_offsets.size(); ++i) {
    step->program->bind_input(static_cast<int>(i),
                              step->slot() + input_offsets[i]);
  }
  return step;
}

}  // namespace plimsoll::train::testing
