#include "plan/program_plan.h"

#include <algorithm>
#include <new>

#include "plan/liveness.h"
#include "plan/order.h"
#include "plan/packing.h"
#include "plan/program_checks.h"

namespace plimsoll::plan {
namespace {

// What the steps of one plan share.
struct Workshop {
  std::int64_t alignment_bytes = kBufferAlignment;
  std::pmr::memory_resource* memory = nullptr;

  std::int64_t aligned(std::int64_t bytes) const {
    return round_up(bytes, alignment_bytes);
  }
};

std::int64_t peak_of(const graph::LoweredGraph& program, const Order& order,
                     graph::Place at, const Workshop& shop) {
  const auto alive = lives(program, order, shop.memory);
  const auto bytes =
      live_bytes(program, order, alive, shop.alignment_bytes, shop.memory, at);
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

// The candidate with the least peak; the given order unless another is lower.
Order choose_order(const graph::LoweredGraph& program, const Workshop& shop) {
  const Dependencies dependent = dependencies(program, shop.memory);
  Order best = program.is_mixed()
                   ? stay_in_place(program, dependent, shop.memory)
                   : given_order(program, shop.memory);
  const bool mixed = program.is_mixed();
  std::int64_t least = peak_of(program, best, graph::Place::home, shop);
  const std::int64_t host =
      mixed ? peak_of(program, best, graph::Place::host, shop) : 0;
  const auto consider = [&](Order order) {
    const std::int64_t peak = peak_of(program, order, graph::Place::home, shop);
    if (peak >= least) return;
    // What the device gains must not be the host's loss.
    if (mixed && peak_of(program, order, graph::Place::host, shop) > host) {
      return;
    }
    best = std::move(order);
    least = peak;
  };
  consider(updates_first(program, dependent, shop.memory));
  consider(
      release_soonest(program, dependent, shop.alignment_bytes, shop.memory));
  return best;
}

// Offsets of what is transient at `at`.
TransientRange place(const graph::LoweredGraph& program, graph::Place at,
                     std::span<const Life> alive, const Workshop& shop,
                     ProgramPlan& plan) {
  std::pmr::vector<PackItem> items(shop.memory);
  std::pmr::vector<std::int64_t*> places(shop.memory);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const graph::Buffer& buffer = program.buffers[i];
    if (buffer.kind != graph::BufferKind::transient || buffer.place != at) {
      continue;
    }
    plan.buffer_offsets[i] = 0;
    if (alive[i].first < 0 || buffer.bytes == 0) continue;
    items.push_back({alive[i].first, std::int64_t{alive[i].last} + 1,
                     shop.aligned(buffer.bytes)});
    places.push_back(&plan.buffer_offsets[i]);
  }
  for (std::size_t position = 0; position < plan.order.size(); ++position) {
    const auto index = static_cast<std::size_t>(plan.order[position]);
    const graph::Instruction& step = program.instructions[index];
    const std::int64_t bytes = step.kernel.scratch_bytes;
    if (bytes == 0 || step.place != at) continue;
    const auto time = static_cast<std::int64_t>(position);
    items.push_back({time, time + 1, shop.aligned(bytes)});
    places.push_back(&plan.scratch_offsets[index]);
  }
  PackOptions options;
  options.memory = shop.memory;
  const Packing packing = pack(items, options);
  for (std::size_t i = 0; i < places.size(); ++i) {
    *places[i] = packing.offsets[i];
  }
  return {packing.height_bytes, packing.lower_bound_bytes, {}};
}

TransientBytes bytes_at_peak(const graph::LoweredGraph& program,
                             const ProgramPlan& plan, graph::Place at,
                             std::span<const Life> alive,
                             const Workshop& shop) {
  const auto bytes = live_bytes(program, plan.order, alive,
                                shop.alignment_bytes, shop.memory, at);
  if (bytes.empty()) return {};
  const auto peak = std::max_element(bytes.begin(), bytes.end());
  const auto position = static_cast<std::int32_t>(peak - bytes.begin());
  TransientBytes result;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (alive[i].first < 0) continue;
    if (alive[i].first > position || alive[i].last < position) continue;
    const graph::Buffer& buffer = program.buffers[i];
    if (buffer.place != at) continue;
    (buffer.phase == graph::Phase::forward ? result.activations
                                           : result.gradients) +=
        shop.aligned(buffer.bytes);
  }
  const std::int32_t running = plan.order[static_cast<std::size_t>(position)];
  const graph::Instruction& step =
      program.instructions[static_cast<std::size_t>(running)];
  if (step.place == at) {
    result.scratch = shop.aligned(step.kernel.scratch_bytes);
  }
  return result;
}

ProgramPlan make_plan(const graph::LoweredGraph& program, std::string name,
                      const Workshop& shop) {
  ProgramPlan plan;
  plan.name = std::move(name);
  plan.batch = program.batch;
  const Order order = choose_order(program, shop);
  plan.order.assign(order.begin(), order.end());
  const auto alive = lives(program, plan.order, shop.memory);
  plan.buffer_offsets.assign(program.buffers.size(), -1);
  plan.scratch_offsets.assign(program.instructions.size(), -1);
  for (const auto& [at, range] : {std::pair{graph::Place::home, &plan.home},
                                  std::pair{graph::Place::host, &plan.host}}) {
    *range = place(program, at, alive, shop, plan);
    range->at_peak = bytes_at_peak(program, plan, at, alive, shop);
  }
  for (const graph::Instruction& instruction : program.instructions) {
    plan.compute_seconds += instruction.kernel.seconds;
  }
  plan.numerics_key = graph::numerics_key(program);
  return plan;
}

}  // namespace

Result<ProgramPlan> plan_program(const graph::LoweredGraph& program,
                                 std::string name, const PlanOptions& options) {
  try {
    PLIMSOLL_RETURN_IF_ERROR(check_program(program, options.alignment_bytes));
    std::pmr::unsynchronized_pool_resource pool(
        options.memory ? options.memory : std::pmr::get_default_resource());
    return make_plan(program, std::move(name),
                     {options.alignment_bytes, &pool});
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::over_budget,
                 "planning ran out of the memory it may use"};
  }
}

std::vector<std::int64_t> memory_timeline(const graph::LoweredGraph& program,
                                          const ProgramPlan& plan,
                                          std::int64_t alignment_bytes) {
  std::pmr::memory_resource* memory = std::pmr::get_default_resource();
  const auto alive = lives(program, plan.order, memory);
  const auto bytes =
      live_bytes(program, plan.order, alive, alignment_bytes, memory);
  return {bytes.begin(), bytes.end()};
}

}  // namespace plimsoll::plan
