#include "plan/program_checks.h"

#include <cmath>
#include <limits>

#include "base/units.h"

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
constexpr std::size_t kMostIndices = std::numeric_limits<std::int32_t>::max();

Error bad(const std::string& who, const std::string& what) {
  return Error{ErrorCode::bad_input, who + ": " + what};
}

// Adds `bytes`, aligned, to `sum`.
Status count(const std::string& who, std::int64_t bytes,
             std::int64_t alignment_bytes, std::int64_t& sum) {
  if (bytes < 0) return bad(who, "negative size");
  if (bytes > kMostBytes - sum - alignment_bytes) {
    return bad(who, "the program's buffers pass 2^62 bytes");
  }
  sum += round_up(bytes, alignment_bytes);
  return {};
}

Status check_instruction(const graph::LoweredGraph& program, std::size_t index,
                         std::vector<bool>& written) {
  const graph::Instruction& instruction = program.instructions[index];
  if (!instruction.op) return bad(instruction.name, "has no op");
  for (const int before : instruction.after) {
    if (before < 0 || static_cast<std::size_t>(before) >= index) {
      return bad(instruction.name, "depends on instruction " +
                                       std::to_string(before) +
                                       ", which does not come before it");
    }
  }
  for (const auto* list : {&instruction.inputs, &instruction.outputs}) {
    for (const graph::BufferId id : *list) {
      if (!id.valid() || id.pos() >= program.buffers.size()) {
        return bad(instruction.name,
                   "no buffer has number " + std::to_string(id.index));
      }
    }
  }
  for (const graph::BufferId id : instruction.inputs) {
    if (!written[id.pos()]) {
      return bad(instruction.name, "reads " + program.buffer(id).name +
                                       " before anything has written it");
    }
  }
  for (const graph::BufferId id : instruction.outputs) written[id.pos()] = true;
  const double seconds = instruction.kernel.seconds;
  if (!std::isfinite(seconds) || seconds < 0) {
    return bad(instruction.name, "its kernel's time is not a duration");
  }
  return {};
}

}  // namespace

Status check_program(const graph::LoweredGraph& program,
                     std::int64_t alignment_bytes) {
  if (alignment_bytes < 1 || alignment_bytes > kGiB) {
    return bad("program", "the alignment is not from 1 to 2^30 bytes");
  }
  if (program.buffers.size() >= kMostIndices ||
      program.instructions.size() >= kMostIndices) {
    return bad("program", "too many buffers or instructions");
  }
  if (program.batch < 0) return bad("program", "negative batch");
  std::int64_t sum = 0;
  std::vector<bool> written;
  for (const graph::Buffer& buffer : program.buffers) {
    PLIMSOLL_RETURN_IF_ERROR(
        count(buffer.name, buffer.bytes, alignment_bytes, sum));
    written.push_back(buffer.kind != graph::BufferKind::transient);
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(check_instruction(program, i, written));
    const graph::Instruction& instruction = program.instructions[i];
    PLIMSOLL_RETURN_IF_ERROR(count(instruction.name,
                                   instruction.kernel.scratch_bytes,
                                   alignment_bytes, sum));
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].output && !written[i]) {
      return bad(program.buffers[i].name, "is an output nothing writes");
    }
  }
  return {};
}

}  // namespace plimsoll::plan
