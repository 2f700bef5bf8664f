#include "plan/order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/liveness.h"
#include "plan/random_program.h"

namespace plimsoll::plan {
namespace {

using graph::Phase;
using testing::ProgramBuilder;

std::pmr::memory_resource* heap() { return std::pmr::get_default_resource(); }

std::vector<std::int32_t> plain(const Order& order) {
  return {order.begin(), order.end()};
}

std::int64_t peak(const graph::LoweredGraph& program, const Order& order) {
  const auto alive = lives(program, order, heap());
  const auto bytes =
      live_bytes(program, order, alive, kBufferAlignment, heap());
  return *std::max_element(bytes.begin(), bytes.end());
}

void expect_respects(const graph::LoweredGraph& program, const Order& order) {
  ASSERT_EQ(order.size(), program.instructions.size());
  std::vector<bool> ran(order.size());
  for (const std::int32_t index : order) {
    const auto i = static_cast<std::size_t>(index);
    ASSERT_FALSE(ran[i]);
    for (const int before : program.instructions[i].after) {
      ASSERT_TRUE(ran[static_cast<std::size_t>(before)])
          << program.instructions[i].name;
    }
    ran[i] = true;
  }
}

// Two layers; both updates stand at the end, as autodiff leaves them.
graph::LoweredGraph two_layers() {
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  const auto w1 = build.state("w1", 6400);
  const auto w2 = build.state("w2", 6400);
  const auto a = build.buffer("a", 640);
  const auto y = build.buffer("y", 64);
  const auto dy = build.buffer("dy", 64, Phase::backward);
  const auto dw2 = build.buffer("dw2", 6400, Phase::backward);
  const auto da = build.buffer("da", 640, Phase::backward);
  const auto dw1 = build.buffer("dw1", 6400, Phase::backward);
  build.run("a", {x, w1}, {a});                       // 0
  build.run("y", {a, w2}, {y});                       // 1
  build.run("dy", {y}, {dy}, Phase::backward);        // 2
  build.run("dw2", {dy, a}, {dw2}, Phase::backward);  // 3
  build.run("da", {dy, w2}, {da}, Phase::backward);   // 4
  build.run("dw1", {da, x}, {dw1}, Phase::backward);  // 5
  build.run("u1", {w1, dw1}, {w1}, Phase::update);    // 6
  build.run("u2", {w2, dw2}, {w2}, Phase::update);    // 7
  return build.program;
}

TEST(Order, UpdatesRunAsSoonAsNobodyReadsTheOldValue) {
  const graph::LoweredGraph program = two_layers();
  const Dependencies dependent = dependencies(program, heap());
  const Order order = updates_first(program, dependent, heap());
  // u2 overwrites w2, which da still reads: right after da, not before.
  EXPECT_EQ(plain(order), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 7, 5, 6}));
  EXPECT_LT(peak(program, order), peak(program, given_order(program, heap())));
}

TEST(Order, LowestCandidateIsChosenAndTiesKeepTheGivenOrder) {
  const graph::LoweredGraph program = two_layers();
  const auto plan = plan_program(program, "train");
  ASSERT_TRUE(plan);
  const Dependencies dependent = dependencies(program, heap());
  const std::int64_t least =
      std::min({peak(program, given_order(program, heap())),
                peak(program, updates_first(program, dependent, heap())),
                peak(program, release_soonest(program, dependent,
                                              kBufferAlignment, heap()))});
  EXPECT_EQ(plan->home.lower_bound_bytes, least);

  ProgramBuilder build;  // nothing to gain
  const auto x = build.input("x", 64);
  const auto a = build.output("a", 128);
  const auto b = build.output("b", 64);
  build.run("a", {x}, {a}, Phase::forward);
  build.run("b", {x}, {b}, Phase::update);  // both others would begin with it
  const auto tie = plan_program(build.program, "train");
  ASSERT_TRUE(tie);
  EXPECT_EQ(tie->order, (std::vector<std::int32_t>{0, 1}));
}

TEST(Order, ReleaseSoonestFinishesABranchBeforeTheNext) {
  // Four branches, each large in the middle and small at its end; given
  // breadth first, which keeps all four alive.
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  std::vector<graph::BufferId> large;
  std::vector<graph::BufferId> small;
  for (int i = 0; i < 4; ++i) {
    large.push_back(build.buffer("large" + std::to_string(i), 64000));
    build.run("large" + std::to_string(i), {x}, {large.back()});
  }
  for (int i = 0; i < 4; ++i) {
    small.push_back(build.buffer("small" + std::to_string(i), 64));
    build.run("small" + std::to_string(i), {large[static_cast<std::size_t>(i)]},
              {small.back()});
  }
  const auto sum = build.output("sum", 64);
  build.run("sum", small, {sum}, Phase::forward, 0);
  const Dependencies dependent = dependencies(build.program, heap());
  const Order order =
      release_soonest(build.program, dependent, kBufferAlignment, heap());
  expect_respects(build.program, order);
  EXPECT_EQ(peak(build.program, order), 64000 + 4 * 64);
}

TEST(Order, BuffersOrderInstructionsEvenWithoutAfter) {
  graph::LoweredGraph program = two_layers();
  const Dependencies with = dependencies(program, heap());
  for (auto& instruction : program.instructions) instruction.after.clear();
  const Dependencies without = dependencies(program, heap());
  EXPECT_EQ(with.successors, without.successors);
  EXPECT_EQ(with.starts, without.starts);
}

TEST(Order, AfterIsRespectedWithoutAnyBuffer) {
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  const auto a = build.output("a", 64);
  const auto b = build.output("b", 64);
  build.run("a", {x}, {a}, Phase::forward);
  build.run("b", {x}, {b}, Phase::update);
  build.program.instructions[1].after = {0};
  const Dependencies dependent = dependencies(build.program, heap());
  EXPECT_EQ(plain(updates_first(build.program, dependent, heap())),
            (std::vector<std::int32_t>{0, 1}));
}

TEST(Order, EveryCandidateIsAValidOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const graph::LoweredGraph program = testing::random_program(seed);
    const Dependencies dependent = dependencies(program, heap());
    expect_respects(program, updates_first(program, dependent, heap()));
    expect_respects(
        program, release_soonest(program, dependent, kBufferAlignment, heap()));
  }
}

}  // namespace
}  // namespace plimsoll::plan
