// When each transient buffer is alive under a given order.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/units.h"
#include "plan/program_plan.h"

namespace plimsoll::plan {

// Positions in the order, both included; first < 0: never alive.
struct Life {
  std::int32_t first = -1;
  std::int32_t last = -1;
};

// By buffer; inputs and states are never alive in the transient range.
std::pmr::vector<Life> lives(const graph::LoweredGraph& program,
                             std::span<const std::int32_t> order,
                             std::pmr::memory_resource* memory);

// Bytes alive at one place, each buffer aligned, while each position runs; with
// scratch.
std::pmr::vector<std::int64_t> live_bytes(
    const graph::LoweredGraph& program, std::span<const std::int32_t> order,
    std::span<const Life> lives, std::int64_t alignment_bytes,
    std::pmr::memory_resource* memory, graph::Place place = graph::Place::home);

}  // namespace plimsoll::plan
