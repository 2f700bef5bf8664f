// Orders of execution to choose among.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "graph/lowered.h"

namespace plimsoll::plan {

using Order = std::pmr::vector<std::int32_t>;

// Who must run before whom: `Instruction::after`, and what the buffers say
// (readers after their writer, writers after earlier readers and writers).
struct Dependencies {
  std::pmr::vector<std::int32_t> starts;      // by instruction, one more
  std::pmr::vector<std::int32_t> successors;  // from starts[i] to starts[i + 1]
  std::pmr::vector<std::int32_t> waits;       // predecessors, by instruction
};
Dependencies dependencies(const graph::LoweredGraph& program,
                          std::pmr::memory_resource* memory);

// The given order.
Order given_order(const graph::LoweredGraph& program,
                  std::pmr::memory_resource* memory);
// The given order with what runs at one place put together, as far as it can
// be: changing over takes time.
Order stay_in_place(const graph::LoweredGraph& program,
                    const Dependencies& dependencies,
                    std::pmr::memory_resource* memory);
// The given order with every update as early as it can run, so that gradients
// die soon.
Order updates_first(const graph::LoweredGraph& program,
                    const Dependencies& dependencies,
                    std::pmr::memory_resource* memory);
// At each step what lets most bytes go, looking a few instructions ahead;
// buffers are aligned.
Order release_soonest(const graph::LoweredGraph& program,
                      const Dependencies& dependencies,
                      std::int64_t alignment_bytes,
                      std::pmr::memory_resource* memory);

}  // namespace plimsoll::plan
