#include "plan/liveness.h"

namespace plimsoll::plan {

std::pmr::vector<Life> lives(const graph::LoweredGraph& program,
                             std::span<const std::int32_t> order,
                             std::pmr::memory_resource* memory) {
  std::pmr::vector<Life> result(program.buffers.size(), memory);
  const auto touch = [&](graph::BufferId id, std::size_t position) {
    const graph::Buffer& buffer = program.buffer(id);
    if (buffer.kind != graph::BufferKind::transient) return;
    Life& life = result[id.pos()];
    if (life.first < 0) life.first = static_cast<std::int32_t>(position);
    life.last =
        static_cast<std::int32_t>(buffer.output ? order.size() - 1 : position);
  };
  for (std::size_t position = 0; position < order.size(); ++position) {
    const graph::Instruction& instruction =
        program.instructions[static_cast<std::size_t>(order[position])];
    for (const graph::BufferId id : instruction.inputs) touch(id, position);
    for (const graph::BufferId id : instruction.outputs) touch(id, position);
  }
  return result;
}

std::pmr::vector<std::int64_t> live_bytes(const graph::LoweredGraph& program,
                                          std::span<const std::int32_t> order,
                                          std::span<const Life> lives,
                                          std::int64_t alignment_bytes,
                                          std::pmr::memory_resource* memory,
                                          graph::Place place) {
  // Changes first, then their running sum.
  std::pmr::vector<std::int64_t> bytes(order.size() + 1, 0, memory);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].first < 0 || program.buffers[i].place != place) continue;
    const std::int64_t size =
        round_up(program.buffers[i].bytes, alignment_bytes);
    bytes[static_cast<std::size_t>(lives[i].first)] += size;
    bytes[static_cast<std::size_t>(lives[i].last) + 1] -= size;
  }
  std::int64_t alive = 0;
  for (std::size_t position = 0; position < order.size(); ++position) {
    alive += bytes[position];
    bytes[position] = alive;
    const graph::Instruction& step =
        program.instructions[static_cast<std::size_t>(order[position])];
    if (step.place != place) continue;
    bytes[position] += round_up(step.kernel.scratch_bytes, alignment_bytes);
  }
  bytes.pop_back();
  return bytes;
}

}  // namespace plimsoll::plan
