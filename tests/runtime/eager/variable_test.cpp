// Variables: values that change under handles that stay.
#include "plimsoll/variable.h"

#include <gmock/gmock.h>

#include "plimsoll/scope.h"
#include "plimsoll/tape.h"
#include "plimsoll/tensor_math.h"
#include "runtime/eager/eager_fixture.h"

namespace plimsoll::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VariableTest : public EagerTest {};

TEST_F(VariableTest, CopiesAreTheSameVariable) {
  const Variable w(ones({2}), "w");
  Variable again = w;
  again.assign_add(ones({2}));
  EXPECT_THAT(w.value().to_floats(), ElementsAre(2, 2));
  EXPECT_EQ(w.name(), "w");
  EXPECT_EQ(w.shape(), Extents{2});
}

TEST_F(VariableTest, WhatWasReadStaysAsItWas) {
  Variable w(ones({2}));
  const Tensor before = w;
  w.assign_sub(full({2}, 3));
  EXPECT_THAT(before.to_floats(), ElementsAre(1, 1));
  EXPECT_THAT(w.value().to_floats(), ElementsAre(-2, -2));
}

TEST_F(VariableTest, MemoryIsThatOfOneValue) {
  Variable w(zeros({1024}));
  const std::int64_t held = live_bytes();
  for (int i = 0; i < 10; ++i) w.assign_add(ones({1024}));
  EXPECT_EQ(live_bytes(), held);
}

TEST_F(VariableTest, AnotherShapeOrTypeIsRefused) {
  Variable w(zeros({2}), "w");
  EXPECT_THAT(thrown([&] { w.assign(zeros({3})); }),
              HasSubstr("variable `w` is f32[2], but is assigned f32[3]"));
  EXPECT_THAT(thrown([&] { w.assign(zeros({2}, DType::f64)); }),
              HasSubstr("f64[2]"));
  EXPECT_THAT(thrown([&] { Variable().value(); }), HasSubstr("is empty"));
}

TEST_F(VariableTest, TapesWatchThem) {
  const Variable w(full({}, 3));
  const Variable fixed(full({}, 5), "fixed", /*trainable=*/false);
  GradientTape tape;
  const Tensor y = w * w + fixed * w;
  const auto gradients = tape.gradient(y, {w, fixed});
  EXPECT_EQ(gradients[0].item(), 11);
  EXPECT_FALSE(gradients[1].defined());
}

TEST_F(VariableTest, AllValuesThatWereReadCount) {
  Variable w(full({}, 3));
  GradientTape tape;
  Tensor y = w * 2.0;
  w.assign(full({}, 7));
  y += w * 5.0;
  EXPECT_EQ(tape.gradient(y, w).item(), 7);
}

// What a tape knows of a tensor is not the variable's that shares its numbers.
TEST_F(VariableTest, IsNotTheTensorThatItWasMadeOf) {
  const Tensor start = full({}, 3);
  const Variable w(start);
  GradientTape tape;
  tape.watch(start);
  const Tensor y = start * 10.0 + w * 2.0;
  EXPECT_EQ(tape.gradient(y, w).item(), 2);
}

std::int64_t held_by(const Ledger& ledger, const std::string& owner,
                     Purpose purpose) {
  std::int64_t bytes = 0;
  for (const Holding& holding : ledger.snapshot()) {
    if (holding.owner == owner && holding.purpose == purpose) {
      bytes += holding.bytes;
    }
  }
  return bytes;
}

TEST_F(VariableTest, TheLedgerNamesThem) {
  Variable w(zeros({1024}), "w");
  EXPECT_EQ(held_by(ledger_, "w", Purpose::parameters), 4096);
  w.assign_add(ones({1024}));
  EXPECT_EQ(held_by(ledger_, "w", Purpose::parameters), 4096);
  // While somebody else has the value it is theirs.
  Tensor other = ones({1024});
  w.assign(other);
  EXPECT_EQ(held_by(ledger_, "w", Purpose::parameters), 0);
  EXPECT_EQ(held_by(ledger_, "eager", Purpose::activations), 4096);
}

TEST_F(VariableTest, ScopesNameTheRest) {
  const Tensor outside = ones({1024});
  Tensor first, second;
  {
    const Scope encoder("encoder");
    first = outside * 2.0;
    const Scope inner("layer_1");
    second = outside + first;
  }
  const Tensor after = outside * 3.0;
  EXPECT_EQ(held_by(ledger_, "encoder", Purpose::activations), 4096);
  EXPECT_EQ(held_by(ledger_, "encoder/layer_1", Purpose::activations), 4096);
  EXPECT_EQ(held_by(ledger_, "eager", Purpose::activations), 8192);
  first = Tensor();
  EXPECT_EQ(held_by(ledger_, "encoder", Purpose::activations), 0);
}

// Each new name costs a line; there is an end to that.
TEST_F(VariableTest, ALoopOfNamesDoesNotGrow) {
  for (int i = 0; i < 10000; ++i) {
    const Scope scope("step " + std::to_string(i));
    ones({4});
  }
  EXPECT_LE(eager_->pool().owner("one more"), 4096);
}

}  // namespace
}  // namespace plimsoll::runtime::testing
