// Plants each kind of defect in a good plan and expects it to be named.
#include "plan/validator.h"

#include <gtest/gtest.h>

#include "plan/random_program.h"

namespace plimsoll::plan {
namespace {

using graph::Phase;
using testing::ProgramBuilder;

// x -> a (64) -> b (128, scratch 64) -> c in place of b -> y; w updated.
class Validator : public ::testing::Test {
 protected:
  Validator() {
    const auto x = build.input("x", 64);
    const auto w = build.state("w", 64);
    const auto a = build.buffer("a", 64);
    const auto b = build.buffer("b", 128, Phase::backward);
    const auto y = build.output("y", 64);
    build.run("make_a", {x, w}, {a});
    build.run("make_b", {a}, {b}, Phase::backward, 50);
    build.run("double_b", {b}, {b}, Phase::backward);
    build.run("make_y", {a, b}, {y});
    build.run("update_w", {w, b}, {w}, Phase::update);
    plan.name = "train";
    plan.order = {0, 1, 2, 3, 4};
    plan.buffer_offsets = {-1, -1, 0, 64, 192};
    plan.scratch_offsets = {-1, 192, -1, -1, -1};
    plan.home.height_bytes = 256;
    plan.home.lower_bound_bytes = 256;
    plan.home.at_peak = {64, 128, 64};
    plan.compute_seconds = 5e-6;
    plan.numerics_key = graph::numerics_key(build.program);
  }

  std::string verdict() const {
    const Status status = validate(build.program, plan);
    if (status) return "ok";
    EXPECT_EQ(status.error().code, ErrorCode::internal);
    return status.error().message;
  }

  ProgramBuilder build;
  ProgramPlan plan;
};

TEST_F(Validator, AcceptsAGoodPlan) { EXPECT_EQ(verdict(), "ok"); }

TEST_F(Validator, WrongCounts) {
  plan.batch = 3;
  EXPECT_EQ(verdict(), "plan: batch is 3, the program's is 0");
  plan.batch = 0;
  plan.order.pop_back();
  EXPECT_EQ(verdict(), "plan: order has 4 entries for 5 instructions");
  plan.order.push_back(4);
  plan.buffer_offsets.push_back(0);
  EXPECT_EQ(verdict(), "plan: buffer offsets are not one a buffer");
  plan.buffer_offsets.pop_back();
  plan.scratch_offsets.pop_back();
  EXPECT_EQ(verdict(), "plan: scratch offsets are not one an instruction");
}

TEST_F(Validator, NoPermutation) {
  plan.order = {0, 1, 2, 3, 3};
  EXPECT_EQ(verdict(), "plan: order runs make_y twice");
  plan.order = {0, 1, 2, 3, 5};
  EXPECT_EQ(verdict(), "plan: order names instruction 5, which does not exist");
  plan.order = {0, 1, 2, 3, -1};
  EXPECT_EQ(verdict(),
            "plan: order names instruction -1, which does not exist");
}

TEST_F(Validator, ReaderBeforeItsWriter) {
  plan.order = {1, 0, 2, 3, 4};
  EXPECT_EQ(verdict(), "plan: make_b runs before make_a, which it must follow");
}

TEST_F(Validator, ReadsThatSeeTheWrongWriter) {
  for (auto& instruction : build.program.instructions) {
    instruction.after.clear();
  }
  plan.order = {0, 1, 3, 2, 4};
  EXPECT_EQ(verdict(),
            "plan: make_y reads b as written by make_b instead of double_b");
  plan.order = {1, 0, 2, 3, 4};
  EXPECT_EQ(verdict(),
            "plan: make_b reads a as written by nobody instead of make_a");
}

TEST_F(Validator, LastWriterChanged) {
  ProgramBuilder two;
  const auto x = two.input("x", 64);
  const auto y = two.output("y", 64);
  two.run("first", {x}, {y});
  two.run("second", {x}, {y});
  two.program.instructions[1].after.clear();
  build = two;
  plan = ProgramPlan();
  plan.order = {1, 0};
  plan.buffer_offsets = {-1, 0};
  plan.scratch_offsets = {-1, -1};
  EXPECT_EQ(verdict(), "plan: y is last written by first instead of second");
}

TEST_F(Validator, OverlapOfBuffers) {
  plan.buffer_offsets[3] = 0;
  EXPECT_EQ(verdict(), "plan: b [0, 128) overlaps a [0, 64) at position 1");
}

TEST_F(Validator, OverlapFromBelow) {
  plan.buffer_offsets[2] = 128;
  plan.buffer_offsets[3] = 64;
  EXPECT_EQ(verdict(), "plan: b [64, 192) overlaps a [128, 192) at position 1");
}

TEST_F(Validator, OverlapWithTheEndOfAnother) {
  plan.buffer_offsets[4] = 128;
  EXPECT_EQ(verdict(), "plan: y [128, 192) overlaps b [64, 192) at position 3");
}

TEST_F(Validator, OverlapWithScratch) {
  plan.scratch_offsets[1] = 128;
  const std::string said = verdict();
  EXPECT_NE(said.find("overlaps"), std::string::npos) << said;
  EXPECT_NE(said.find("scratch of make_b [128, 192)"), std::string::npos)
      << said;
}

TEST_F(Validator, OutputsMustLiveToTheEnd) {
  // y's place is given to the update's scratch after y was last touched.
  build.program.instructions[4].kernel.scratch_bytes = 64;
  plan.scratch_offsets[4] = 192;
  EXPECT_EQ(verdict(),
            "plan: scratch of update_w [192, 256) overlaps y [192, 256) at "
            "position 4");
}

TEST_F(Validator, MemoryOfTheOtherPlace) {
  build.program.instructions[0].place = graph::Place::host;
  EXPECT_EQ(verdict(), "plan: make_a reads w at the wrong place");
  build.program.instructions[0].transfer = true;
  EXPECT_EQ(verdict(), "plan: make_a writes a at the wrong place");
  build.program.instructions[0].place = graph::Place::home;
  build.program.instructions[0].transfer = false;
  build.program.instructions[1].transfer = true;
  EXPECT_EQ(verdict(), "plan: make_b reads a at the wrong place");
}

TEST_F(Validator, AboveTheHeight) {
  plan.buffer_offsets[4] = 256;
  EXPECT_EQ(verdict(), "plan: y ends at 320, above the height 256");
}

TEST_F(Validator, HeightThatNothingReaches) {
  plan.home.height_bytes = 320;
  EXPECT_EQ(verdict(), "plan: height is 320, but the highest end is 256");
}

TEST_F(Validator, Misaligned) {
  plan.buffer_offsets[4] = 130;
  EXPECT_EQ(verdict(), "plan: y is misaligned at 130");
  plan.buffer_offsets[4] = 192;
  plan.scratch_offsets[1] = 193;
  EXPECT_EQ(verdict(), "plan: scratch of make_b is misaligned at 193");
}

TEST_F(Validator, MissingOffsets) {
  plan.buffer_offsets[3] = -1;
  EXPECT_EQ(verdict(), "plan: b has no offset");
  plan.buffer_offsets[3] = 64;
  plan.scratch_offsets[1] = -1;
  EXPECT_EQ(verdict(), "plan: scratch of make_b has no offset");
}

TEST_F(Validator, OffsetsWhereNoneBelong) {
  plan.buffer_offsets[0] = 0;
  EXPECT_EQ(verdict(), "plan: x is not transient but has an offset");
  plan.buffer_offsets[0] = -1;
  plan.scratch_offsets[0] = 0;
  EXPECT_EQ(verdict(), "plan: scratch of make_a has an offset but no bytes");
}

TEST_F(Validator, ImpossibleEnds) {
  plan.buffer_offsets[4] = std::numeric_limits<std::int64_t>::max() - 63;
  EXPECT_EQ(verdict(), "plan: y has an impossible size or offset");
  plan.buffer_offsets[4] = 192;
  build.program.buffers[4].bytes = -5;
  EXPECT_EQ(verdict(), "plan: y has an impossible size or offset");
}

TEST_F(Validator, WrongSums) {
  plan.home.lower_bound_bytes = 192;
  EXPECT_EQ(verdict(), "plan: most bytes alive are 256, not 192");
  plan.home.lower_bound_bytes = 256;
  plan.home.at_peak = {128, 64, 64};
  EXPECT_EQ(verdict(),
            "plan: bytes at the peak by purpose are not those of the plan");
}

TEST_F(Validator, WrongClaims) {
  plan.compute_seconds = 6e-6;
  EXPECT_EQ(verdict(), "plan: compute seconds are not the sum of the kernels'");
  plan.compute_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(verdict(), "plan: compute seconds are not the sum of the kernels'");
  plan.compute_seconds = 5e-6;
  ++plan.numerics_key;
  EXPECT_EQ(verdict(), "plan: numerics key is not the program's");
}

TEST_F(Validator, FindsAnOutputMovedOntoAnInput) {
  int damaged = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const graph::LoweredGraph program = testing::random_program(seed);
    const auto good = plan_program(program, "train");
    ASSERT_TRUE(good);
    testing::Random random(seed);
    const auto last = static_cast<std::int64_t>(program.instructions.size());
    const graph::Instruction& at =
        program.instructions[static_cast<std::size_t>(
            random.between(0, last - 1))];
    const graph::BufferId in = at.inputs.front();
    const graph::BufferId out = at.outputs.front();
    if (in == out || good->buffer_offsets[in.pos()] < 0 ||
        good->buffer_offsets[out.pos()] < 0) {
      continue;
    }
    ProgramPlan bad = *good;
    bad.buffer_offsets[out.pos()] = good->buffer_offsets[in.pos()];
    // A height that is right, so that only the overlap is wrong.
    bad.home.height_bytes = 0;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      if (bad.buffer_offsets[i] < 0) continue;
      bad.home.height_bytes = std::max(
          bad.home.height_bytes,
          bad.buffer_offsets[i] + (program.buffers[i].bytes + 63) / 64 * 64);
    }
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      if (bad.scratch_offsets[i] < 0) continue;
      const std::int64_t bytes = program.instructions[i].kernel.scratch_bytes;
      bad.home.height_bytes =
          std::max(bad.home.height_bytes,
                   bad.scratch_offsets[i] + (bytes + 63) / 64 * 64);
    }
    const Status status = validate(program, bad);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find(" overlaps "), std::string::npos)
        << status.error().message;
    ++damaged;
  }
  EXPECT_GT(damaged, 20);
}

TEST_F(Validator, TheAlignmentIsTheCallers) {
  const Status status = validate(build.program, plan, 256);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "plan: scratch of make_b is misaligned at 192");
  EXPECT_FALSE(validate(build.program, plan, 0));
}

}  // namespace
}  // namespace plimsoll::plan
