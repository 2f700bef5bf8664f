#include <algorithm>
#include <array>
#include <limits>

#include "base/units.h"
#include "plan/order.h"

namespace plimsoll::plan {
namespace {

constexpr std::size_t kLookahead = 6;   // instructions, the first included
constexpr std::size_t kFromFront = 12;  // ready ones looked at, oldest first
constexpr std::size_t kFromBack = 4;    // and youngest, where updates stand

// What running a few instructions would do to the bytes alive, relative to
// now: the highest point on the way to the lowest.
struct Outlook {
  std::int64_t hill = 0;
  std::int64_t valley = 0;
};

class Scheduler {
 public:
  Scheduler(const graph::LoweredGraph& program,
            const Dependencies& dependencies, std::int64_t alignment_bytes,
            std::pmr::memory_resource* memory)
      : program_(program),
        dependencies_(dependencies),
        alignment_bytes_(alignment_bytes),
        waits_(dependencies.waits, memory),
        users_left_(program.buffers.size(), 0, memory),
        alive_(program.buffers.size(), false, memory),
        ready_(memory),
        undo_(memory) {
    for (const graph::Instruction& instruction : program.instructions) {
      for_each_buffer(instruction, [&](std::size_t b) { ++users_left_[b]; });
    }
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i] == 0) ready_.push_back(static_cast<std::int32_t>(i));
    }
  }

  Order run(std::pmr::memory_resource* memory) {
    Order order(memory);
    order.reserve(waits_.size());
    while (!ready_.empty()) {
      const std::size_t chosen = choose();
      const std::int32_t next = ready_[chosen];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
      order.push_back(next);
      execute(next);
      for_each_successor(next, [&](std::int32_t to) {
        if (waits_[static_cast<std::size_t>(to)] != 0) return;
        ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), to), to);
      });
    }
    return order;
  }

 private:
  // Each transient buffer once, though an instruction may read it twice or
  // write where it reads.
  template <class F>
  void for_each_buffer(const graph::Instruction& instruction, F f) const {
    const auto& in = instruction.inputs;
    const auto& out = instruction.outputs;
    const auto at = [&](std::size_t i) {
      return i < in.size() ? in[i] : out[i - in.size()];
    };
    for (std::size_t i = 0; i < in.size() + out.size(); ++i) {
      const graph::BufferId id = at(i);
      if (program_.buffer(id).kind != graph::BufferKind::transient) continue;
      bool seen = false;
      for (std::size_t j = 0; j < i && !seen; ++j) seen = at(j) == id;
      if (!seen) f(id.pos());
    }
  }
  template <class F>
  void for_each_successor(std::int32_t instruction, F f) const {
    const auto index = static_cast<std::size_t>(instruction);
    for (std::int32_t at = dependencies_.starts[index];
         at < dependencies_.starts[index + 1]; ++at) {
      f(dependencies_.successors[static_cast<std::size_t>(at)]);
    }
  }

  std::int64_t aligned(std::int64_t bytes) const {
    return round_up(bytes, alignment_bytes_);
  }

  // Runs one instruction in the books; `during` is the most bytes it adds
  // while it runs, the result what it adds for good.
  std::int64_t execute(std::int32_t instruction,
                       std::int64_t* during = nullptr) {
    const graph::Instruction& it =
        program_.instructions[static_cast<std::size_t>(instruction)];
    std::int64_t taken = 0;
    std::int64_t released = 0;
    for_each_buffer(it, [&](std::size_t b) {
      const std::int64_t bytes = aligned(program_.buffers[b].bytes);
      if (!alive_[b]) {
        alive_[b] = true;
        taken += bytes;
      }
      if (--users_left_[b] == 0 && !program_.buffers[b].output) {
        released += bytes;
      }
    });
    for_each_successor(instruction, [&](std::int32_t to) {
      --waits_[static_cast<std::size_t>(to)];
    });
    if (during) *during = taken + aligned(it.kernel.scratch_bytes);
    return taken - released;
  }

  // The reverse of execute(), but for births: look() takes those back.
  void take_back(std::int32_t instruction) {
    const graph::Instruction& it =
        program_.instructions[static_cast<std::size_t>(instruction)];
    for_each_buffer(it, [&](std::size_t b) { ++users_left_[b]; });
    for_each_successor(instruction, [&](std::int32_t to) {
      ++waits_[static_cast<std::size_t>(to)];
    });
  }

  Outlook look(std::int32_t first) {
    std::array<std::int32_t, kLookahead> runs{};
    std::size_t count = 0;
    std::int64_t now = 0;
    std::int64_t hill = 0;
    Outlook outlook{0, std::numeric_limits<std::int64_t>::max()};
    undo_.clear();
    for (std::int32_t next = first; next >= 0 && count < kLookahead;) {
      note_births(next);
      std::int64_t during = 0;
      const std::int64_t change = execute(next, &during);
      runs[count++] = next;
      hill = std::max(hill, now + during);
      now += change;
      if (now < outlook.valley) outlook = {hill, now};
      next = best_follower(next);
    }
    while (count > 0) take_back(runs[--count]);
    for (const std::size_t b : undo_) alive_[b] = false;
    return outlook;
  }

  void note_births(std::int32_t instruction) {
    for_each_buffer(
        program_.instructions[static_cast<std::size_t>(instruction)],
        [&](std::size_t b) {
          if (!alive_[b]) undo_.push_back(b);
        });
  }

  // Of the instructions that the last one has made ready, the one that adds
  // least; -1 when there is none.
  std::int32_t best_follower(std::int32_t last) const {
    std::int32_t best = -1;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for_each_successor(last, [&](std::int32_t to) {
      if (waits_[static_cast<std::size_t>(to)] != 0) return;
      std::int64_t change = 0;
      for_each_buffer(program_.instructions[static_cast<std::size_t>(to)],
                      [&](std::size_t b) {
                        const std::int64_t bytes =
                            aligned(program_.buffers[b].bytes);
                        if (!alive_[b]) change += bytes;
                        if (users_left_[b] == 1 && !program_.buffers[b].output)
                          change -= bytes;
                      });
      if (change < least) {
        least = change;
        best = to;
      }
    });
    return best;
  }

  // Position in ready_: the lowest hill among those that end lower than now;
  // if none does, the least growth.
  std::size_t choose() {
    std::size_t best = 0;
    Outlook best_outlook;
    bool have = false;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      if (i >= kFromFront && i + kFromBack < ready_.size()) continue;
      const Outlook outlook = look(ready_[i]);
      if (!have || better(outlook, best_outlook)) {
        best = i;
        best_outlook = outlook;
        have = true;
      }
    }
    return best;
  }
  static bool better(const Outlook& a, const Outlook& b) {
    const bool a_frees = a.valley <= 0;
    const bool b_frees = b.valley <= 0;
    if (a_frees != b_frees) return a_frees;
    if (a_frees) {
      return a.hill != b.hill ? a.hill < b.hill : a.valley < b.valley;
    }
    return a.valley != b.valley ? a.valley < b.valley : a.hill < b.hill;
  }

  const graph::LoweredGraph& program_;
  const Dependencies& dependencies_;
  std::int64_t alignment_bytes_;
  std::pmr::vector<std::int32_t> waits_;
  std::pmr::vector<std::int32_t> users_left_;  // touches still to come
  std::pmr::vector<bool> alive_;
  std::pmr::vector<std::int32_t> ready_;  // as given
  std::pmr::vector<std::size_t> undo_;    // buffers born while looking ahead
};

}  // namespace

Order release_soonest(const graph::LoweredGraph& program,
                      const Dependencies& dependencies,
                      std::int64_t alignment_bytes,
                      std::pmr::memory_resource* memory) {
  return Scheduler(program, dependencies, alignment_bytes, memory).run(memory);
}

}  // namespace plimsoll::plan
