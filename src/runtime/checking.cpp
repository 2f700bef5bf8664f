#include "runtime/checking.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

#include "base/hash.h"

namespace plimsoll::runtime {
namespace {

using graph::BufferId;
using graph::BufferKind;
using graph::Instruction;

struct Range {
  std::int64_t begin = 0;  // from the arena's start
  std::int64_t end = 0;
};

class CheckedRun {
 public:
  explicit CheckedRun(Program& program)
      : program_(program),
        lowered_(program.lowered()),
        arena_(program.memory().arena),
        bytes_(program.memory().layout->bytes),
        first_use_(lowered_.buffers.size(), -1),
        last_use_(lowered_.buffers.size(), -1),
        contents_(lowered_.buffers.size(), 0) {}

  Status run() {
    find_lifetimes();
    const auto launches = program_.launches();
    for (std::size_t t = 0; t < launches.size(); ++t) {
      PLIMSOLL_RETURN_IF_ERROR(check(launches[t], static_cast<int>(t)));
    }
    for (const BufferId id : lowered_.outputs) {
      PLIMSOLL_RETURN_IF_ERROR(check_contents(id, "the host"));
    }
    return {};
  }

 private:
  const Instruction& step_of(const Launch& launch) const {
    return lowered_.instructions[static_cast<std::size_t>(launch.instruction)];
  }

  void find_lifetimes() {
    const auto launches = program_.launches();
    for (std::size_t t = 0; t < launches.size(); ++t) {
      const auto touch = [&](BufferId id) {
        if (first_use_[id.pos()] < 0) first_use_[id.pos()] = int(t);
        last_use_[id.pos()] = int(t);
      };
      for (const BufferId id : step_of(launches[t]).inputs) touch(id);
      for (const BufferId id : step_of(launches[t]).outputs) touch(id);
    }
    for (std::size_t i = 0; i < lowered_.buffers.size(); ++i) {
      if (lowered_.buffers[i].output) last_use_[i] = int(launches.size());
    }
  }

  Range transient_range(BufferId id) const {
    const std::int64_t begin = program_.memory().layout->transient_offset +
                               program_.plan().buffer_offsets[id.pos()];
    return {begin, begin + lowered_.buffer(id).bytes};
  }

  Range range_at(const void* start, std::int64_t bytes) const {
    const std::int64_t begin = static_cast<const std::byte*>(start) - arena_;
    return {begin, begin + bytes};
  }

  std::uint64_t hash(Range range) const {
    return stable_hash(
        std::string_view(reinterpret_cast<const char*>(arena_ + range.begin),
                         static_cast<std::size_t>(range.end - range.begin)));
  }

  // Everything transient that no later launch may read becomes NaN.
  void poison_dead(int now) {
    std::vector<bool> live(static_cast<std::size_t>(bytes_), false);
    for (std::size_t i = 0; i < lowered_.buffers.size(); ++i) {
      if (lowered_.buffers[i].kind != BufferKind::transient) continue;
      if (first_use_[i] >= now || last_use_[i] < now) continue;
      const Range range = transient_range(BufferId(i));
      std::fill(live.begin() + range.begin, live.begin() + range.end, true);
    }
    const std::int64_t start = program_.memory().layout->transient_offset;
    for (std::int64_t i = start; i < bytes_; ++i) {
      if (!live[static_cast<std::size_t>(i)]) arena_[i] = std::byte{0xff};
    }
  }

  // A value must reach its reader as its writer left it.
  Status check_contents(BufferId id, const std::string& reader) const {
    const graph::Buffer& buffer = lowered_.buffer(id);
    if (buffer.kind != BufferKind::transient ||
        hash(transient_range(id)) == contents_[id.pos()]) {
      return {};
    }
    return Error{ErrorCode::internal,
                 fmt::format("{}: `{}` was overwritten after it was made",
                             reader, buffer.name)};
  }

  Status check(const Launch& launch, int now) {
    const Instruction& step = step_of(launch);
    poison_dead(now);
    for (const BufferId id : step.inputs) {
      PLIMSOLL_RETURN_IF_ERROR(check_contents(id, step.name));
    }
    const std::vector<std::byte> before(arena_, arena_ + bytes_);
    const ops::LaunchArgs args{launch.inputs, launch.outputs, launch.scratch};
    if (launch.kernel->launch(args) != ops::LaunchStatus::ok) {
      return Error{ErrorCode::device, step.name + ": the kernel failed"};
    }
    PLIMSOLL_RETURN_IF_ERROR(check_writes(launch, step, before));
    for (const BufferId id : step.outputs) {
      if (lowered_.buffer(id).kind == BufferKind::transient) {
        contents_[id.pos()] = hash(transient_range(id));
      }
    }
    return {};
  }

  Status check_writes(const Launch& launch, const Instruction& step,
                      const std::vector<std::byte>& before) const {
    std::vector<Range> allowed;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      allowed.push_back(
          range_at(launch.outputs[i], lowered_.buffer(step.outputs[i]).bytes));
    }
    if (launch.scratch) {
      allowed.push_back(range_at(launch.scratch, step.kernel.scratch_bytes));
    }
    const auto is_allowed = [&](std::int64_t at) {
      for (const Range& range : allowed) {
        if (at >= range.begin && at < range.end) return true;
      }
      return false;
    };
    for (std::int64_t i = 0; i < bytes_; ++i) {
      if (before[static_cast<std::size_t>(i)] == arena_[i] || is_allowed(i)) {
        continue;
      }
      return Error{ErrorCode::internal,
                   fmt::format("{}: kernel {} wrote at byte {} of the arena, "
                               "outside its outputs and scratch",
                               step.name, step.kernel.name, i)};
    }
    return {};
  }

  Program& program_;
  const graph::LoweredGraph& lowered_;
  std::byte* arena_;
  std::int64_t bytes_;
  std::vector<int> first_use_;  // by buffer, in launches
  std::vector<int> last_use_;
  std::vector<std::uint64_t> contents_;  // hash when last written
};

}  // namespace

Status run_checked(Program& program) { return CheckedRun(program).run(); }

}  // namespace plimsoll::runtime
