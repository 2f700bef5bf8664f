#include "plan/order.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>

namespace plimsoll::plan {
namespace {

using Edge = std::pair<std::int32_t, std::int32_t>;  // from, to

void buffer_edges(const graph::LoweredGraph& program,
                  std::pmr::vector<Edge>& edges,
                  std::pmr::memory_resource* memory) {
  struct Touched {
    std::int32_t writer = -1;
    std::int32_t last_reader = -1;  // since the writer
  };
  std::pmr::vector<Touched> touched(program.buffers.size(), memory);
  // Readers of one buffer since its writer, chained from the last to the first.
  struct Reader {
    std::int32_t instruction;
    std::int32_t previous;
  };
  std::pmr::vector<Reader> readers(memory);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const auto self = static_cast<std::int32_t>(i);
    for (const graph::BufferId id : program.instructions[i].inputs) {
      Touched& buffer = touched[id.pos()];
      if (buffer.writer >= 0) edges.emplace_back(buffer.writer, self);
      readers.push_back({self, buffer.last_reader});
      buffer.last_reader = static_cast<std::int32_t>(readers.size() - 1);
    }
    for (const graph::BufferId id : program.instructions[i].outputs) {
      Touched& buffer = touched[id.pos()];
      if (buffer.writer >= 0) edges.emplace_back(buffer.writer, self);
      for (std::int32_t at = buffer.last_reader; at >= 0;) {
        const Reader& reader = readers[static_cast<std::size_t>(at)];
        edges.emplace_back(reader.instruction, self);
        at = reader.previous;
      }
      buffer = {self, -1};
    }
  }
}

}  // namespace

Dependencies dependencies(const graph::LoweredGraph& program,
                          std::pmr::memory_resource* memory) {
  const std::size_t count = program.instructions.size();
  std::pmr::vector<Edge> edges(memory);
  for (std::size_t i = 0; i < count; ++i) {
    for (const int before : program.instructions[i].after) {
      edges.emplace_back(before, static_cast<std::int32_t>(i));
    }
  }
  buffer_edges(program, edges, memory);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::erase_if(edges, [](const Edge& edge) {
    return edge.first == edge.second;  // reads and writes one buffer in place
  });

  Dependencies result{std::pmr::vector<std::int32_t>(count + 1, 0, memory),
                      std::pmr::vector<std::int32_t>(memory),
                      std::pmr::vector<std::int32_t>(count, 0, memory)};
  result.successors.reserve(edges.size());
  for (const auto& [from, to] : edges) {
    ++result.starts[static_cast<std::size_t>(from) + 1];
    ++result.waits[static_cast<std::size_t>(to)];
    result.successors.push_back(to);
  }
  std::partial_sum(result.starts.begin(), result.starts.end(),
                   result.starts.begin());
  return result;
}

Order given_order(const graph::LoweredGraph& program,
                  std::pmr::memory_resource* memory) {
  Order order(program.instructions.size(), memory);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

namespace {

using Queue = std::priority_queue<std::int32_t, std::pmr::vector<std::int32_t>,
                                  std::greater<std::int32_t>>;

// Two queues, each as given; which of them goes first is the order's idea.
class TwoQueues {
 public:
  explicit TwoQueues(std::pmr::memory_resource* memory)
      : queues_{Queue({}, std::pmr::vector<std::int32_t>(memory)),
                Queue({}, std::pmr::vector<std::int32_t>(memory))} {}

  bool empty() const { return queues_[0].empty() && queues_[1].empty(); }
  void push(bool second, std::int32_t index) { queues_[second].push(index); }
  // From the queue that is asked for, unless it is empty.
  std::int32_t pop(bool& second) {
    if (queues_[second].empty()) second = !second;
    const std::int32_t next = queues_[second].top();
    queues_[second].pop();
    return next;
  }

 private:
  std::array<Queue, 2> queues_;
};

// Runs what is ready: of the second kind where `of_second` says so of an
// instruction. `sticky`: the kind of the last one goes on; otherwise the
// second kind always goes first.
template <class OfSecond>
Order run_ready(const Dependencies& dependencies, bool sticky,
                std::pmr::memory_resource* memory, const OfSecond& of_second) {
  TwoQueues ready(memory);
  std::pmr::vector<std::int32_t> waits(dependencies.waits, memory);
  const auto make_ready = [&](std::size_t index) {
    ready.push(of_second(index), static_cast<std::int32_t>(index));
  };
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) make_ready(i);
  }
  Order order(memory);
  order.reserve(waits.size());
  bool second = !sticky;
  while (!ready.empty()) {
    if (!sticky) second = true;
    const std::int32_t next = ready.pop(second);
    order.push_back(next);
    const auto index = static_cast<std::size_t>(next);
    for (std::int32_t at = dependencies.starts[index];
         at < dependencies.starts[index + 1]; ++at) {
      const auto to = static_cast<std::size_t>(
          dependencies.successors[static_cast<std::size_t>(at)]);
      if (--waits[to] == 0) make_ready(to);
    }
  }
  return order;
}

}  // namespace

Order stay_in_place(const graph::LoweredGraph& program,
                    const Dependencies& dependencies,
                    std::pmr::memory_resource* memory) {
  return run_ready(dependencies, true, memory, [&](std::size_t index) {
    return program.instructions[index].runs_on_host();
  });
}

Order updates_first(const graph::LoweredGraph& program,
                    const Dependencies& dependencies,
                    std::pmr::memory_resource* memory) {
  return run_ready(dependencies, false, memory, [&](std::size_t index) {
    return program.instructions[index].phase == graph::Phase::update;
  });
}

}  // namespace plimsoll::plan
