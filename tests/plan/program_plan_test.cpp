#include "plan/program_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/random_program.h"
#include "plan/validator.h"

namespace plimsoll::plan {
namespace {

using graph::Phase;
using testing::ProgramBuilder;

std::string error_of(const graph::LoweredGraph& program) {
  const auto plan = plan_program(program, "train");
  return plan ? "ok" : plan.error().message;
}

TEST(ProgramPlan, AnEmptyProgramTakesNothing) {
  const graph::LoweredGraph program;
  const auto plan = plan_program(program, "predict");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->name, "predict");
  EXPECT_EQ(plan->home.height_bytes, 0);
  EXPECT_TRUE(validate(program, *plan));
}

TEST(ProgramPlan, LivesFromFirstWriterToLastReader) {
  ProgramBuilder build;
  const auto x = build.input("x", 100);
  const auto a = build.buffer("a", 1000);
  const auto b = build.buffer("b", 2000);
  const auto c = build.buffer("c", 500);
  const auto loss = build.output("loss", 4);
  build.run("a", {x}, {a});
  build.run("b", {a}, {b}, Phase::forward, 10);
  build.run("c", {b}, {c});
  build.run("loss", {c}, {loss});
  const auto plan = plan_program(build.program, "train");
  ASSERT_TRUE(plan);
  // Sizes in whole 64 bytes: a 1024, b 2048, c 512, scratch and loss 64.
  EXPECT_EQ(plan->home.lower_bound_bytes, 1024 + 2048 + 64);
  EXPECT_EQ(plan->home.height_bytes, plan->home.lower_bound_bytes);
  EXPECT_EQ(plan->home.at_peak, (TransientBytes{1024 + 2048, 0, 64}));
  EXPECT_EQ(memory_timeline(build.program, *plan),
            (std::vector<std::int64_t>{1024, 3136, 2560, 576}));
  EXPECT_EQ(plan->buffer_offsets[x.pos()], -1);
  EXPECT_EQ(plan->scratch_offsets[0], -1);
  EXPECT_GE(plan->scratch_offsets[1], 0);
  EXPECT_DOUBLE_EQ(plan->compute_seconds, 4e-6);
  EXPECT_TRUE(validate(build.program, *plan));
}

TEST(ProgramPlan, OutputsLiveToTheEnd) {
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  const auto first = build.output("first", 640);
  const auto second = build.output("second", 640);
  build.run("first", {x}, {first});
  build.run("second", {x}, {second});
  const auto plan = plan_program(build.program, "predict");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->home.height_bytes, 1280);
  EXPECT_NE(plan->buffer_offsets[first.pos()],
            plan->buffer_offsets[second.pos()]);
}

TEST(ProgramPlan, BuffersOfNoBytesGetOffsetZero) {
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  const auto empty = build.buffer("empty", 0);
  const auto unused = build.buffer("unused", 640);
  const auto y = build.output("y", 64);
  build.run("empty", {x}, {empty});
  build.run("y", {empty}, {y});
  const auto plan = plan_program(build.program, "predict");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->buffer_offsets[empty.pos()], 0);
  EXPECT_EQ(plan->buffer_offsets[unused.pos()], 0);
  EXPECT_EQ(plan->home.height_bytes, 64);
  EXPECT_TRUE(validate(build.program, *plan));
}

TEST(ProgramPlan, PhasesBecomeAccounts) {
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  const auto w = build.state("w", 64);
  const auto a = build.buffer("a", 64);
  const auto g = build.buffer("g", 128, Phase::backward);
  const auto u = build.buffer("u", 256, Phase::update);
  build.run("a", {x, w}, {a});
  build.run("g", {a, x}, {g}, Phase::backward);
  build.run("u", {g, a}, {u}, Phase::update, 1);
  build.run("w", {u, w}, {w}, Phase::update);
  const auto plan = plan_program(build.program, "train");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->home.at_peak, (TransientBytes{64, 128 + 256, 64}));
  EXPECT_EQ(plan->buffer_offsets[w.pos()], -1);
}

TEST(ProgramPlan, RefusesBrokenPrograms) {
  const auto with = [](auto change) {
    ProgramBuilder build;
    const auto x = build.input("x", 64);
    const auto a = build.buffer("a", 64);
    const auto y = build.output("y", 64);
    build.run("first", {x}, {a});
    build.run("second", {a}, {y});
    change(build.program);
    return error_of(build.program);
  };
  using Program = graph::LoweredGraph;
  EXPECT_EQ(with([](Program&) {}), "ok");
  EXPECT_EQ(with([](Program& p) { p.instructions[0].after = {1}; }),
            "first: depends on instruction 1, which does not come before it");
  EXPECT_EQ(with([](Program& p) { p.instructions[1].after = {-1}; }),
            "second: depends on instruction -1, which does not come before it");
  EXPECT_EQ(
      with([](Program& p) { p.instructions[0].inputs = {graph::BufferId(9)}; }),
      "first: no buffer has number 9");
  EXPECT_EQ(
      with([](Program& p) { p.instructions[0].outputs = {graph::BufferId()}; }),
      "first: no buffer has number -1");
  EXPECT_EQ(with([](Program& p) { p.instructions[0].outputs.clear(); }),
            "second: reads a before anything has written it");
  EXPECT_EQ(with([](Program& p) { p.instructions[1].outputs.clear(); }),
            "y: is an output nothing writes");
  EXPECT_EQ(with([](Program& p) { p.instructions[1].op = nullptr; }),
            "second: has no op");
  EXPECT_EQ(with([](Program& p) { p.buffers[1].bytes = -1; }),
            "a: negative size");
  EXPECT_EQ(with([](Program& p) { p.batch = -1; }), "program: negative batch");
  EXPECT_EQ(with([](Program& p) {
              p.instructions[1].kernel.seconds =
                  std::numeric_limits<double>::infinity();
            }),
            "second: its kernel's time is not a duration");
}

TEST(ProgramPlan, RefusesSizesBeyondCounting) {
  ProgramBuilder build;
  const auto x = build.input("x", 64);
  const auto a = build.buffer("a", std::numeric_limits<std::int64_t>::max());
  build.run("a", {x}, {a});
  EXPECT_EQ(error_of(build.program),
            "a: the program's buffers pass 2^62 bytes");
  build.program.buffers[a.pos()].bytes = (std::int64_t{1} << 62) - 256;
  EXPECT_EQ(error_of(build.program), "ok");
  build.program.instructions[0].kernel.scratch_bytes = 256;
  EXPECT_EQ(error_of(build.program),
            "a: the program's buffers pass 2^62 bytes");
}

TEST(ProgramPlan, PlanningStaysInTheMemoryItIsGiven) {
  const graph::LoweredGraph program = testing::random_program(1);
  std::array<std::byte, 2048> few;
  std::pmr::monotonic_buffer_resource pool(few.data(), few.size(),
                                           std::pmr::null_memory_resource());
  const auto plan = plan_program(program, "train", {&pool});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::over_budget);

  std::vector<std::byte> enough(4 << 20);
  std::pmr::monotonic_buffer_resource large(enough.data(), enough.size(),
                                            std::pmr::null_memory_resource());
  const auto again = plan_program(program, "train", {&large});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *plan_program(program, "train"));
}

TEST(ProgramPlan, KeepsALargerAlignment) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const graph::LoweredGraph program = testing::random_program(seed);
    PlanOptions options;
    options.alignment_bytes = 256;
    const auto plan = plan_program(program, "train", options);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(validate(program, *plan, 256));
    for (const auto* offsets :
         {&plan->buffer_offsets, &plan->scratch_offsets}) {
      for (const std::int64_t offset : *offsets) {
        EXPECT_TRUE(offset == -1 || offset % 256 == 0);
      }
    }
    const auto timeline = memory_timeline(program, *plan, 256);
    EXPECT_EQ(*std::max_element(timeline.begin(), timeline.end()),
              plan->home.lower_bound_bytes);
  }
}

TEST(ProgramPlan, AnAbsurdAlignmentIsAnError) {
  ProgramBuilder build;
  PlanOptions options;
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 40}) {
    options.alignment_bytes = bytes;
    EXPECT_FALSE(plan_program(build.program, "train", options));
  }
}

}  // namespace
}  // namespace plimsoll::plan
