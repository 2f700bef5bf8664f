// Gradients of what was computed at once.
#include "plimsoll/tape.h"

#include <gmock/gmock.h>

#include "plimsoll/tensor_math.h"
#include "runtime/eager/eager_fixture.h"

namespace plimsoll::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TapeTest : public EagerTest {};

TEST_F(TapeTest, GradientsOfInputsInTheirShapes) {
  const Tensor x = arange(6).reshape({2, 3});
  const Tensor w = full({3, 2}, 0.5);
  const Tensor bias = zeros({2});
  GradientTape tape;
  tape.watch(w);
  tape.watch(bias);
  const Tensor y = matmul(x, w) + bias;
  const Tensor loss = sum(square(y));
  const auto gradients = tape.gradient(loss, {w, bias});
  // 2 x^T y and the sums of 2 y.
  EXPECT_THAT(gradients[0].to_floats(), ElementsAre(36, 36, 51, 51, 66, 66));
  EXPECT_THAT(gradients[1].to_floats(), ElementsAre(15, 15));
}

TEST_F(TapeTest, ValuesThatMeetAddUp) {
  const Tensor x = full({}, 3);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x + x * 2.0;
  EXPECT_EQ(tape.gradient(y, x).item(), 8);
}

TEST_F(TapeTest, SeedsAndIntermediates) {
  const Tensor x = full({2}, 3);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  const Tensor z = y * 5.0;
  EXPECT_THAT(tape.gradient(z, y).to_floats(), ElementsAre(5, 5));
  const Tensor seed = Tensor::of(std::vector<float>{1, 10}, {2});
  EXPECT_THAT(tape.gradient(z, x, seed).to_floats(), ElementsAre(30, 300));
  EXPECT_THAT(thrown([&] { tape.gradient(z, x, zeros({3})); }),
              HasSubstr("the seed is f32[3], but the target is f32[2]"));
}

TEST_F(TapeTest, OnePersistentTapeAnswersOften) {
  const Tensor x = full({}, 2);
  GradientTape once;
  once.watch(x);
  const Tensor y = square(x);
  EXPECT_EQ(once.gradient(y, x).item(), 4);
  EXPECT_THAT(thrown([&] { once.gradient(y, x); }), HasSubstr("persistent"));
}

TEST_F(TapeTest, NothingFlowsThroughStopGradientOrFromElsewhere) {
  const Tensor x = full({}, 2);
  const Tensor other = full({}, 7);
  GradientTape tape;
  tape.watch(x);
  tape.watch(other);
  const Tensor y = x * stop_gradient(x);
  const auto gradients = tape.gradient(y, {x, other});
  EXPECT_EQ(gradients[0].item(), 2);
  EXPECT_FALSE(gradients[1].defined());
}

TEST_F(TapeTest, SecondDerivativesByNesting) {
  const Tensor x = full({}, 3);
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    const Tensor y = x * x * x;
    first = inner.gradient(y, x);
  }
  EXPECT_EQ(first.item(), 27);
  EXPECT_EQ(outer.gradient(first, x).item(), 18);
}

TEST_F(TapeTest, AnOpWithoutAGradientIsNamed) {
  const Tensor x = arange(4);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(argmax(x, 0).cast(DType::f32) * 2.0 + sum(x) * 0.0);
  EXPECT_THAT(tape.gradient(y, x).to_floats(), ElementsAre(0, 0, 0, 0));
}

// Sums keep nothing, squares their operand; backward frees as it goes.
TEST_F(TapeTest, KeepsWhatGradientsRead) {
  constexpr std::int64_t kBytes = 1 << 20;
  const Tensor x = ones({kBytes / 4});
  const std::int64_t before = live_bytes();
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y + 1.0;
  EXPECT_LE(live_bytes(), before + kBytes + 4096);
  for (int i = 0; i < 4; ++i) y = square(y) * 0.01;
  EXPECT_LE(live_bytes(), before + 5 * kBytes + 4096);
  const Tensor loss = mean(y);
  y = Tensor();
  const Tensor gradient = tape.gradient(loss, x);
  EXPECT_LE(live_bytes(), before + kBytes + 8192);
}

TEST_F(TapeTest, AWrongQuestionMayBeAskedAgain) {
  const Tensor x = full({2}, 3);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  EXPECT_THAT(thrown([&] { tape.gradient(y, x, zeros({3})); }),
              HasSubstr("seed"));
  EXPECT_THAT(tape.gradient(y, x).to_floats(), ElementsAre(6, 6));
}

TEST_F(TapeTest, GradientsLieBesideTheirValues) {
  const Tensor x = full({2}, 3);
  HostMemorySource memory;
  Ledger ledger;
  const auto other = std::make_shared<Eager>(
      EagerMachine{threads_, *kernels_, memory, ledger});
  enter_eager(other);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = power(x, 3.0);
  EXPECT_THAT(tape.gradient(y, x).to_floats(), ElementsAre(27, 27));
  leave_eager(other.get());
  other->close();
}

TEST_F(TapeTest, ATapeThatGoesGivesAllBack) {
  const Tensor x = ones({1 << 16});
  const std::int64_t before = live_bytes();
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = square(square(x));
  }
  EXPECT_EQ(live_bytes(), before);
  EXPECT_TRUE(recording_tapes().empty());
}

}  // namespace
}  // namespace plimsoll::runtime::testing
