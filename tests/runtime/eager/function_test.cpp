// Traced functions: what they compute, how often they are traced, and what they
// hold.
#include "plimsoll/function.h"

#include <gmock/gmock.h>

#include "plimsoll/tape.h"
#include "plimsoll/tensor_math.h"
#include "runtime/eager/eager_fixture.h"

namespace plimsoll::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FunctionTest : public EagerTest {
 protected:
  ~FunctionTest() override { run_functions_eagerly(false); }
};

TEST_F(FunctionTest, RunsWhatWasTraced) {
  int bodies = 0;
  auto f = function([&](const Tensor& x, const Tensor& y) {
    ++bodies;
    return square(x) + y * 2.0;
  });
  EXPECT_THAT(f(arange(3), ones({3})).to_floats(), ElementsAre(2, 3, 6));
  EXPECT_THAT(f(ones({3}), arange(3)).to_floats(), ElementsAre(1, 3, 5));
  EXPECT_EQ(bodies, 1);
  EXPECT_EQ(f.traces(), 1);
}

TEST_F(FunctionTest, AnyBatchIsOneTrace) {
  const Variable w(full({4, 2}, 0.5));
  auto f =
      function([&](const Tensor& x) { return mean(square(matmul(x, w))); });
  for (std::int64_t batch = 1; batch <= 64; ++batch) {
    const Tensor x = random_normal({batch, 4}, batch);
    const double expected = mean(square(matmul(x, w))).item();
    EXPECT_NEAR(f(x).item(), expected, 1e-5 * (1 + expected));
  }
  EXPECT_EQ(f.traces(), 1);
  EXPECT_EQ(f.plans(), 64);
}

TEST_F(FunctionTest, OtherTypesAndShapesAreTracedAnew) {
  auto f = function([](const Tensor& x) { return x + 1.0; });
  f(zeros({2, 3}));
  f(zeros({5, 3}));
  EXPECT_EQ(f.traces(), 1);
  f(zeros({2, 4}));
  f(zeros({2, 3}, DType::f64));
  f(zeros({2}));
  EXPECT_EQ(f.traces(), 4);
}

// One that asks for its batch is traced for each.
TEST_F(FunctionTest, ABatchThatIsAskedForIsANumber) {
  auto f = function([](const Tensor& x) {
    return sum(x) * (1.0 / static_cast<double>(x.shape()[0]));
  });
  EXPECT_EQ(f(ones({4, 2})).item(), 2);
  EXPECT_EQ(f(ones({8, 2})).item(), 2);
  EXPECT_EQ(f(ones({4, 2})).item(), 2);
  EXPECT_EQ(f.traces(), 2);
}

TEST_F(FunctionTest, ReshapesKeepTheBatchOpen) {
  auto f = function([](const Tensor& x) { return x.reshape({-1, 4}) * 2.0; });
  EXPECT_EQ(f(ones({3, 2, 2})).shape(), (Extents{3, 4}));
  EXPECT_EQ(f(ones({5, 2, 2})).shape(), (Extents{5, 4}));
  EXPECT_EQ(f.traces(), 1);
}

TEST_F(FunctionTest, AStepIsOneFunction) {
  const auto train = [&](bool traced) {
    Variable w(full({4, 1}, 0.1), "w");
    Variable b(zeros({1}), "b");
    auto step = function([&](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor loss = mean(square(matmul(x, w) + b - y));
      const auto gradients = tape.gradient(loss, {w, b});
      w.assign_sub(0.1 * gradients[0]);
      b.assign_sub(0.1 * gradients[1]);
      return loss;
    });
    run_functions_eagerly(!traced);
    for (int i = 0; i < 20; ++i) {
      const Tensor x = random_normal({8, 4}, i);
      step(x, sum(x, {1}, true));
    }
    EXPECT_EQ(step.traces(), traced ? 1 : 0);
    auto numbers = w.value().to_floats();
    numbers.push_back(static_cast<float>(b.value().item()));
    return numbers;
  };
  const auto traced = train(true);
  EXPECT_EQ(traced, train(false));
  EXPECT_NEAR(traced[0], 1, 0.5);
}

TEST_F(FunctionTest, VariablesAreReadWhenItRuns) {
  Variable w(ones({2}));
  auto f = function([&](const Tensor& x) { return x * w; });
  f(ones({2}));
  w.assign(full({2}, 5));
  EXPECT_THAT(f(ones({2})).to_floats(), ElementsAre(5, 5));
}

TEST_F(FunctionTest, WhoReadAVariableKeepsItsNumbers) {
  Variable w(ones({2}));
  auto f = function([&](const Tensor& x) { w.assign_add(x); });
  const Tensor before = w;
  f(ones({2}));
  const Tensor between = w;
  f(ones({2}));
  EXPECT_THAT(before.to_floats(), ElementsAre(1, 1));
  EXPECT_THAT(between.to_floats(), ElementsAre(2, 2));
  EXPECT_THAT(w.value().to_floats(), ElementsAre(3, 3));
}

// Old values of variables that change meanwhile.
TEST_F(FunctionTest, VariablesMaySwap) {
  Variable a(ones({2}), "a");
  Variable b(full({2}, 7), "b");
  auto swap = function([&](const Tensor& x) {
    const Tensor old = a;
    a.assign(b);
    b.assign(old);
    return std::vector<Tensor>{old, a, x};
  });
  const auto results = swap(zeros({2}));
  EXPECT_THAT(a.value().to_floats(), ElementsAre(7, 7));
  EXPECT_THAT(b.value().to_floats(), ElementsAre(1, 1));
  EXPECT_THAT(results[0].to_floats(), ElementsAre(1, 1));
  EXPECT_THAT(results[1].to_floats(), ElementsAre(7, 7));
  EXPECT_THAT(results[2].to_floats(), ElementsAre(0, 0));
}

TEST_F(FunctionTest, CapturedTensorsAreConstants) {
  Tensor c = full({2}, 3);
  auto f = function([&](const Tensor& x) { return x * c; });
  EXPECT_THAT(f(ones({2})).to_floats(), ElementsAre(3, 3));
  c = full({2}, 4);
  EXPECT_THAT(f(ones({2})).to_floats(), ElementsAre(3, 3));
}

TEST_F(FunctionTest, ATapeSeesThroughIt) {
  auto f = function([](const Tensor& x) { return square(x); });
  const Tensor x = full({}, 3);
  f(x);
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(tape.gradient(f(x) * 2.0, x).item(), 12);
}

TEST_F(FunctionTest, FunctionsCallFunctions) {
  auto inner = function([](const Tensor& x) { return x + 1.0; });
  auto outer = function([&](const Tensor& x) { return inner(x) * inner(x); });
  EXPECT_EQ(outer(full({}, 2)).item(), 9);
  EXPECT_EQ(outer.traces(), 1);
  EXPECT_EQ(inner.traces(), 0);
}

TEST_F(FunctionTest, NumbersAreNotThereYet) {
  auto f = function([](const Tensor& x) { return x * x.item(); });
  EXPECT_THAT(thrown([&] { f(full({}, 2)); }),
              HasSubstr("is a value of a traced function"));
  Tensor leaked;
  auto g = function([&](const Tensor& x) { return leaked = x + 1.0; });
  g(full({}, 2));
  EXPECT_THAT(thrown([&] { leaked + leaked; }), HasSubstr("traced function"));
  EXPECT_THAT(thrown([&] { f(leaked); }), HasSubstr("traced function"));
  auto h = function([](const Tensor& x) {
    const Variable w(x, "w");
    return x * w;
  });
  EXPECT_THAT(thrown([&] { h(ones({2})); }),
              HasSubstr("variable `w` is made inside of a traced function"));
}

TEST_F(FunctionTest, MistakesAreTheBodys) {
  auto f =
      function([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  EXPECT_THAT(thrown([&] {
                f(zeros({2, 3}), zeros({4, 5}));
              }),
              HasSubstr("f32[2, 3]"));
  EXPECT_EQ(f(zeros({2, 3}), zeros({3, 5})).shape(), (Extents{2, 5}));
}

TEST_F(FunctionTest, MemoryComesAndGoesWithACall) {
  auto f = function(
      [](const Tensor& x) { return sum(exp(matmul(x, x)) * matmul(x, x)); });
  const Tensor x = random_normal({64, 64}, 1);
  EXPECT_GE(f.planned_bytes(x), 64 * 64 * 4);
  const std::int64_t before = live_bytes();
  { const Tensor y = f(x); }
  EXPECT_EQ(live_bytes(), before);
}

TEST_F(FunctionTest, ABoundedNumberIsKept) {
  auto f = function([](const Tensor& x) { return matmul(x, transpose(x)); },
                    {.name = "f", .most_traces = 4, .most_plans = 8});
  for (std::int64_t n = 1; n <= 40; ++n) f(ones({2, n}));
  EXPECT_EQ(f.traces(), 40);
  const std::int64_t held = ledger_.held_bytes(Space::host);
  for (std::int64_t n = 1; n <= 40; ++n) f(ones({2, n}));
  EXPECT_EQ(f.traces(), 80);
  EXPECT_EQ(ledger_.held_bytes(Space::host), held);
}

TEST_F(FunctionTest, OverTheLineNothingHasChanged) {
  Variable w(ones({256, 256}));
  auto f = function([&](const Tensor& x) {
    w.assign(matmul(w, exp(x)));
    return sum(w);
  });
  const Tensor x = zeros({256, 256});
  ledger_.set_limit(Space::host, ledger_.held_bytes(Space::host));
  EXPECT_THAT(thrown([&] { f(x); }, Failure::over_budget), HasSubstr("eager"));
  ledger_.set_limit(Space::host, std::int64_t{1} << 40);
  EXPECT_EQ(w.value()[0][0].item(), 1);
  EXPECT_EQ(f(x).item(), 256.0 * 256 * 256);
}

TEST_F(FunctionTest, AfterCloseItSaysSo) {
  auto f = function([](const Tensor& x) { return x + 1.0; });
  const Tensor x = ones({2});
  f(x);
  eager_->close();
  EXPECT_THAT(thrown([&] { f(x); }), HasSubstr("closed"));
}

}  // namespace
}  // namespace plimsoll::runtime::testing
