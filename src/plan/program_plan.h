// Order and addresses of one program.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

#include "graph/lowered.h"

namespace plimsoll::plan {

// Transient bytes by purpose at the first moment when most are alive.
struct TransientBytes {
  std::int64_t activations = 0;  // first written by the forward pass
  std::int64_t gradients = 0;    // by the backward pass or the update
  std::int64_t scratch = 0;      // of the kernel that is running
  std::int64_t total() const { return activations + gradients + scratch; }
  friend bool operator==(const TransientBytes&,
                         const TransientBytes&) = default;
};

// The addresses that transient buffers of one place share.
struct TransientRange {
  std::int64_t height_bytes = 0;
  std::int64_t lower_bound_bytes = 0;  // most bytes alive at one time
  TransientBytes at_peak;              // adds up to lower_bound_bytes
  friend bool operator==(const TransientRange&,
                         const TransientRange&) = default;
};

struct ProgramPlan {
  std::string name;  // train, train-tail, evaluate, evaluate-tail, predict
  std::int64_t batch = 0;
  std::vector<std::int32_t> order;  // instruction indices
  // By buffer, in the range of its place; -1: not transient.
  std::vector<std::int64_t> buffer_offsets;
  std::vector<std::int64_t> scratch_offsets;  // by instruction; -1: none
  TransientRange home;
  TransientRange host;  // beside a device; empty where nothing runs there
  double compute_seconds = 0;  // sum of the kernels' estimates
  std::uint64_t numerics_key = 0;
  friend bool operator==(const ProgramPlan&, const ProgramPlan&) = default;
};

inline constexpr std::int64_t kBufferAlignment = 64;  // on the host

struct PlanOptions {
  // Where the planner's own tables live; null: the default resource. When it
  // runs dry (std::bad_alloc) the answer is an over_budget error.
  std::pmr::memory_resource* memory = nullptr;
  std::int64_t alignment_bytes = kBufferAlignment;  // of every offset
};

// Chooses the order with the least peak at home among the candidates it tries,
// then the offsets. A buffer lives from its first writer to its last reader or
// writer, an output to the end, scratch while its instruction runs. Buffers
// that take no bytes, or that nothing touches, get offset 0.
Result<ProgramPlan> plan_program(const graph::LoweredGraph& program,
                                 std::string name,
                                 const PlanOptions& options = {});

// Transient bytes alive at home (aligned, with scratch) while each position of
// the order runs; the plan must belong to the program.
std::vector<std::int64_t> memory_timeline(
    const graph::LoweredGraph& program, const ProgramPlan& plan,
    std::int64_t alignment_bytes = kBufferAlignment);

}  // namespace plimsoll::plan
