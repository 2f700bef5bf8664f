#include "plan/validator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace plimsoll::plan {
namespace {

using graph::BufferKind;
using graph::LoweredGraph;

Error broken(std::string rule) {
  return Error{ErrorCode::internal, "plan: " + std::move(rule)};
}

std::string text(std::int64_t number) { return std::to_string(number); }

Status check_sizes(const LoweredGraph& program, const ProgramPlan& plan) {
  if (plan.batch != program.batch) {
    return broken("batch is " + text(plan.batch) + ", the program's is " +
                  text(program.batch));
  }
  if (plan.order.size() != program.instructions.size()) {
    return broken(
        "order has " + std::to_string(plan.order.size()) + " entries for " +
        std::to_string(program.instructions.size()) + " instructions");
  }
  if (plan.buffer_offsets.size() != program.buffers.size()) {
    return broken("buffer offsets are not one a buffer");
  }
  if (plan.scratch_offsets.size() != program.instructions.size()) {
    return broken("scratch offsets are not one an instruction");
  }
  return {};
}

// Position of each instruction in the order.
Result<std::vector<std::int64_t>> check_permutation(const LoweredGraph& program,
                                                    const ProgramPlan& plan) {
  std::vector<std::int64_t> where(program.instructions.size(), -1);
  std::int64_t position = 0;
  for (const std::int32_t index : plan.order) {
    if (index < 0 ||
        static_cast<std::size_t>(index) >= program.instructions.size()) {
      return broken("order names instruction " + text(index) +
                    ", which does not exist");
    }
    std::int64_t& slot = where[static_cast<std::size_t>(index)];
    if (slot >= 0) {
      return broken("order runs " +
                    program.instructions[static_cast<std::size_t>(index)].name +
                    " twice");
    }
    slot = position++;
  }
  return where;
}

Status check_after(const LoweredGraph& program,
                   const std::vector<std::int64_t>& where) {
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    for (const int before : program.instructions[i].after) {
      if (where[static_cast<std::size_t>(before)] < where[i]) continue;
      return broken(
          program.instructions[i].name + " runs before " +
          program.instructions[static_cast<std::size_t>(before)].name +
          ", which it must follow");
    }
  }
  return {};
}

// Whose bytes each read sees, and who wrote each buffer last, when
// instructions run in a sequence: instruction index, or -1.
struct Sight {
  std::vector<std::vector<std::int64_t>> reads;  // by instruction, input
  std::vector<std::int64_t> final_writers;       // by buffer
};

template <class Sequence>
Sight run_through(const LoweredGraph& program, const Sequence& sequence) {
  Sight sight;
  sight.reads.resize(program.instructions.size());
  sight.final_writers.assign(program.buffers.size(), -1);
  for (const auto entry : sequence) {
    const auto index = static_cast<std::size_t>(entry);
    for (const graph::BufferId id : program.instructions[index].inputs) {
      sight.reads[index].push_back(sight.final_writers[id.pos()]);
    }
    for (const graph::BufferId id : program.instructions[index].outputs) {
      sight.final_writers[id.pos()] = static_cast<std::int64_t>(index);
    }
  }
  return sight;
}

// Every read must see what it sees in the program's own sequence.
Status check_reads(const LoweredGraph& program, const ProgramPlan& plan) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    own.push_back(i);
  }
  const Sight meant = run_through(program, own);
  const Sight planned = run_through(program, plan.order);
  const auto writer = [&](std::int64_t index) {
    return index < 0
               ? std::string("nobody")
               : program.instructions[static_cast<std::size_t>(index)].name;
  };
  for (const std::size_t i : own) {
    const graph::Instruction& reader = program.instructions[i];
    for (std::size_t k = 0; k < reader.inputs.size(); ++k) {
      const std::int64_t want = meant.reads[i][k];
      const std::int64_t have = planned.reads[i][k];
      if (want == have) continue;
      return broken(reader.name + " reads " +
                    program.buffer(reader.inputs[k]).name + " as written by " +
                    writer(have) + " instead of " + writer(want));
    }
  }
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (meant.final_writers[b] == planned.final_writers[b]) continue;
    return broken(program.buffers[b].name + " is last written by " +
                  writer(planned.final_writers[b]) + " instead of " +
                  writer(meant.final_writers[b]));
  }
  return {};
}

// One range of addresses that is taken for some positions of the order.
struct Block {
  std::string name;
  std::int64_t from = 0;  // address
  std::int64_t to = 0;    // address after the last, padding included
  std::int64_t born = 0;  // position
  std::int64_t dead = 0;  // first position after its life
  int account = 0;        // 0 activations, 1 gradients, 2 scratch
  graph::Place place = graph::Place::home;
};

// Makes blocks whose offsets and sizes keep an alignment.
struct Mason {
  std::int64_t alignment_bytes = 0;

  Result<Block> block(std::string name, std::int64_t offset, std::int64_t bytes,
                      std::int64_t born, std::int64_t dead, int account) const {
    if (offset < 0) return broken(name + " has no offset");
    if (offset % alignment_bytes != 0) {
      return broken(name + " is misaligned at " + text(offset));
    }
    std::int64_t end = 0;
    if (bytes < 0 || __builtin_add_overflow(bytes, alignment_bytes - 1, &end) ||
        __builtin_add_overflow(offset, end / alignment_bytes * alignment_bytes,
                               &end)) {
      return broken(name + " has an impossible size or offset");
    }
    return Block{std::move(name), offset, end, born, dead, account};
  }
};

Result<std::vector<Block>> blocks_of(const LoweredGraph& program,
                                     const ProgramPlan& plan,
                                     const std::vector<std::int64_t>& where,
                                     const Mason& mason) {
  const auto steps = static_cast<std::int64_t>(program.instructions.size());
  std::vector<std::int64_t> born(program.buffers.size(), steps);
  std::vector<std::int64_t> dead(program.buffers.size(), 0);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const graph::Instruction& instruction = program.instructions[i];
    std::vector<graph::BufferId> used = instruction.inputs;
    used.insert(used.end(), instruction.outputs.begin(),
                instruction.outputs.end());
    for (const graph::BufferId id : used) {
      born[id.pos()] = std::min(born[id.pos()], where[i]);
      dead[id.pos()] = std::max(dead[id.pos()], where[i] + 1);
    }
    const std::string name = "scratch of " + instruction.name;
    if (instruction.kernel.scratch_bytes == 0) {
      if (plan.scratch_offsets[i] == -1) continue;
      return broken(name + " has an offset but no bytes");
    }
    PLIMSOLL_ASSIGN(Block scratch, mason.block(name, plan.scratch_offsets[i],
                                               instruction.kernel.scratch_bytes,
                                               where[i], where[i] + 1, 2));
    scratch.place = instruction.place;
    blocks.push_back(std::move(scratch));
  }
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const graph::Buffer& buffer = program.buffers[b];
    if (buffer.kind != BufferKind::transient) {
      if (plan.buffer_offsets[b] == -1) continue;
      return broken(buffer.name + " is not transient but has an offset");
    }
    const int account = buffer.phase == graph::Phase::forward ? 0 : 1;
    PLIMSOLL_ASSIGN(
        Block taken,
        mason.block(buffer.name, plan.buffer_offsets[b], buffer.bytes, born[b],
                    buffer.output ? steps : dead[b], account));
    taken.place = buffer.place;
    if (taken.born < taken.dead) blocks.push_back(std::move(taken));
  }
  return blocks;
}

Status check_height(const std::vector<Block>& blocks,
                    const TransientRange& range) {
  std::int64_t highest = 0;
  for (const Block& block : blocks) {
    if (block.to == block.from) continue;
    if (block.to > range.height_bytes) {
      return broken(block.name + " ends at " + text(block.to) +
                    ", above the height " + text(range.height_bytes));
    }
    highest = std::max(highest, block.to);
  }
  if (highest != range.height_bytes) {
    return broken("height is " + text(range.height_bytes) +
                  ", but the highest end is " + text(highest));
  }
  return {};
}

// An instruction works on memory of its own place; a transfer reads at the
// other one.
Status check_places(const LoweredGraph& program) {
  for (const graph::Instruction& instruction : program.instructions) {
    const auto elsewhere = [&](graph::BufferId id, bool other) {
      const graph::Buffer& buffer = program.buffer(id);
      return buffer.kind != BufferKind::input &&
             (buffer.place == instruction.place) == other;
    };
    for (const graph::BufferId id : instruction.inputs) {
      if (!elsewhere(id, instruction.transfer)) continue;
      return broken(instruction.name + " reads " + program.buffer(id).name +
                    " at the wrong place");
    }
    for (const graph::BufferId id : instruction.outputs) {
      if (!elsewhere(id, false)) continue;
      return broken(instruction.name + " writes " + program.buffer(id).name +
                    " at the wrong place");
    }
  }
  return {};
}

// Walks the order once: what starts must not lie on what is still there.
Status check_overlaps_and_sums(const std::vector<Block>& blocks,
                               std::size_t steps, const TransientRange& range) {
  std::vector<std::vector<const Block*>> births(steps);
  std::vector<std::vector<const Block*>> deaths(steps + 1);
  for (const Block& block : blocks) {
    if (block.to == block.from) continue;
    births[static_cast<std::size_t>(block.born)].push_back(&block);
    deaths[static_cast<std::size_t>(block.dead)].push_back(&block);
  }
  std::map<std::int64_t, const Block*> taken;  // by address
  std::int64_t now[3] = {0, 0, 0};
  std::int64_t most = 0;
  TransientBytes at_most;
  for (std::size_t step = 0; step < steps; ++step) {
    for (const Block* block : deaths[step]) {
      taken.erase(block->from);
      now[block->account] -= block->to - block->from;
    }
    for (const Block* block : births[step]) {
      const auto above = taken.lower_bound(block->from);
      const Block* other = nullptr;
      if (above != taken.end() && above->first < block->to) {
        other = above->second;
      } else if (above != taken.begin() &&
                 std::prev(above)->second->to > block->from) {
        other = std::prev(above)->second;
      }
      if (other) {
        return broken(block->name + " [" + text(block->from) + ", " +
                      text(block->to) + ") overlaps " + other->name + " [" +
                      text(other->from) + ", " + text(other->to) +
                      ") at position " + std::to_string(step));
      }
      taken.emplace(block->from, block);
      now[block->account] += block->to - block->from;
    }
    if (now[0] + now[1] + now[2] > most) {
      most = now[0] + now[1] + now[2];
      at_most = {now[0], now[1], now[2]};
    }
  }
  if (range.lower_bound_bytes != most) {
    return broken("most bytes alive are " + text(most) + ", not " +
                  text(range.lower_bound_bytes));
  }
  if (range.at_peak != at_most) {
    return broken("bytes at the peak by purpose are not those of the plan");
  }
  return {};
}

Status check_claims(const LoweredGraph& program, const ProgramPlan& plan) {
  double seconds = 0;
  for (const graph::Instruction& instruction : program.instructions) {
    seconds += instruction.kernel.seconds;
  }
  if (!(std::abs(plan.compute_seconds - seconds) <= 1e-9 * seconds)) {
    return broken("compute seconds are not the sum of the kernels'");
  }
  if (plan.numerics_key != graph::numerics_key(program)) {
    return broken("numerics key is not the program's");
  }
  return {};
}

}  // namespace

Status validate(const graph::LoweredGraph& program, const ProgramPlan& plan,
                std::int64_t alignment_bytes) {
  if (alignment_bytes < 1) return broken("the alignment is not positive");
  PLIMSOLL_RETURN_IF_ERROR(check_sizes(program, plan));
  PLIMSOLL_ASSIGN(const auto where, check_permutation(program, plan));
  PLIMSOLL_RETURN_IF_ERROR(check_after(program, where));
  PLIMSOLL_RETURN_IF_ERROR(check_reads(program, plan));
  PLIMSOLL_RETURN_IF_ERROR(check_places(program));
  PLIMSOLL_ASSIGN(const auto blocks,
                  blocks_of(program, plan, where, Mason{alignment_bytes}));
  for (const graph::Place place : {graph::Place::home, graph::Place::host}) {
    const TransientRange& range =
        place == graph::Place::home ? plan.home : plan.host;
    std::vector<Block> here;
    std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(here),
                 [&](const Block& block) { return block.place == place; });
    PLIMSOLL_RETURN_IF_ERROR(check_height(here, range));
    PLIMSOLL_RETURN_IF_ERROR(
        check_overlaps_and_sums(here, plan.order.size(), range));
  }
  return check_claims(program, plan);
}

}  // namespace plimsoll::plan
