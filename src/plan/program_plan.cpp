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
                     const Workshop& shop) {
  const auto alive = lives(program, order, shop.memory);
  const auto bytes =
      live_bytes(program, order, alive, shop.alignment_bytes, shop.memory);
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

// The candidate with the least peak; the given order unless another is lower.
Order choose_order(const graph::LoweredGraph& program, const Workshop& shop) {
  Order best = given_order(program, shop.memory);
  std::int64_t least = peak_of(program, best, shop);
  const Dependencies dependent = dependencies(program, shop.memory);
  const auto consider = [&](Order order) {
    const std::int64_t peak = peak_of(program, order, shop);
    if (peak >= least) return;
    best = std::move(order);
    least = peak;
  };
  consider(updates_first(program, dependent, shop.memory));
  consider(
      release_soonest(program, dependent, shop.alignment_bytes, shop.memory));
  return best;
}

void place(const graph::LoweredGraph& program, ProgramPlan& plan,
           std::span<const Life> alive, const Workshop& shop) {
  std::pmr::vector<PackItem> items(shop.memory);
  std::pmr::vector<std::int64_t*> places(shop.memory);
  plan.buffer_offsets.assign(program.buffers.size(), -1);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const graph::Buffer& buffer = program.buffers[i];
    if (buffer.kind != graph::BufferKind::transient) continue;
    plan.buffer_offsets[i] = 0;
    if (alive[i].first < 0 || buffer.bytes == 0) continue;
    items.push_back({alive[i].first, std::int64_t{alive[i].last} + 1,
                     shop.aligned(buffer.bytes)});
    places.push_back(&plan.buffer_offsets[i]);
  }
  plan.scratch_offsets.assign(program.instructions.size(), -1);
  for (std::size_t position = 0; position < plan.order.size(); ++position) {
    const auto index = static_cast<std::size_t>(plan.order[position]);
    const std::int64_t bytes = program.instructions[index].kernel.scratch_bytes;
    if (bytes == 0) continue;
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
  plan.height_bytes = packing.height_bytes;
  plan.lower_bound_bytes = packing.lower_bound_bytes;
}

TransientBytes bytes_at_peak(const graph::LoweredGraph& program,
                             const ProgramPlan& plan,
                             std::span<const Life> alive,
                             const Workshop& shop) {
  const auto bytes =
      live_bytes(program, plan.order, alive, shop.alignment_bytes, shop.memory);
  if (bytes.empty()) return {};
  const auto peak = std::max_element(bytes.begin(), bytes.end());
  const auto position = static_cast<std::int32_t>(peak - bytes.begin());
  TransientBytes result;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (alive[i].first < 0) continue;
    if (alive[i].first > position || alive[i].last < position) continue;
    const graph::Buffer& buffer = program.buffers[i];
    (buffer.phase == graph::Phase::forward ? result.activations
                                           : result.gradients) +=
        shop.aligned(buffer.bytes);
  }
  const std::int32_t running = plan.order[static_cast<std::size_t>(position)];
  result.scratch =
      shop.aligned(program.instructions[static_cast<std::size_t>(running)]
                       .kernel.scratch_bytes);
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
  place(program, plan, alive, shop);
  plan.at_peak = bytes_at_peak(program, plan, alive, shop);
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
