// Tensors, tapes and functions on a GPU: the CPU's numbers.
#include <chrono>
#include <cstdio>

#include "train/eager_gpu_fixture.h"

namespace plimsoll::train::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(EagerGpu, NumbersComeBackAsTheyWent) {
  Session session(on_gpu());
  // More than passes at once, and no whole number of pieces.
  std::vector<float> many(3'000'017);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<float>(i % 1000003);
  }
  const Tensor large = Tensor::of(many, {std::ssize(many)});
  std::vector<Tensor> small;
  for (int i = 0; i < 20000; ++i) {
    small.push_back(Tensor::of(std::vector<std::int64_t>{i, -i}, {2}));
  }
  EXPECT_EQ(large.to_floats(), many);
  for (int i = 0; i < 20000; i += 997) {
    EXPECT_EQ(small[static_cast<std::size_t>(i)].to_doubles(),
              (std::vector<double>{1.0 * i, -1.0 * i}));
  }
  EXPECT_EQ(arange(200'001, DType::i64)[200'000].item(), 200'000);
  EXPECT_THAT(Tensor::of(std::vector<float>{1, 2.5f}, {2}).to_string(),
              "[1.  2.5]");
  EXPECT_EQ(zeros({0, 3}).to_floats().size(), 0u);
  EXPECT_EQ(sum(zeros({0, 3})).item(), 0);
}

TEST_F(EagerGpu, ArithmeticAndBroadcasting) {
  compare([] {
    const Tensor a = numbers({7, 1, 33}, 1);
    const Tensor b = numbers({5, 33}, 2);
    const Tensor c = numbers({7, 5, 1}, 3) + 3.0;
    return std::vector<Tensor>{a + b,
                               a * b - c,
                               (a / c) * 2.0,
                               1.0 / c,
                               maximum(a, b),
                               sqrt(c) + exp(a) + log(c) + abs(b),
                               power(c, 1.5),
                               clip(a, -0.25, 0.5),
                               where(greater(a, b), a, b),
                               less(a, 0 * a).cast(DType::f32),
                               a.cast(DType::f64) * 3.0,
                               a.cast(DType::i32)};
  });
}

TEST_F(EagerGpu, ProductsSmallAndLarge) {
  compare(
      [] {
        std::vector<Tensor> made;
        for (const std::int64_t n : {3, 64, 257, 1024}) {
          const Tensor a = numbers({n, n + 5}, n);
          const Tensor b = numbers({n + 5, 2 * n}, n + 1);
          made.push_back(matmul(a, b));
          made.push_back(matmul(b, a, true, true));
        }
        made.push_back(matmul(numbers({4, 3, 16, 8}, 5), numbers({8, 9}, 6)));
        made.push_back(einsum("bij,bkj->bik", numbers({3, 65, 40}, 7),
                              numbers({3, 70, 40}, 8)));
        made.push_back(matmul(numbers({48, 48}, 9).cast(DType::f64),
                              numbers({48, 48}, 10).cast(DType::f64)));
        return made;
      },
      1e-4);
}

TEST_F(EagerGpu, ReductionsIndexingAndShapes) {
  compare([] {
    const Tensor a = numbers({64, 300, 5}, 1);
    const Tensor index =
        Tensor::of(std::vector<std::int32_t>{5, 0, 63, 5}, {4});
    return std::vector<Tensor>{sum(a),
                               mean(a, {0, 2}),
                               max(a, {1}),
                               sum(numbers({300'000}, 2)) / 1000.0,
                               argmax(a, 1).cast(DType::f32),
                               a[3],
                               a[-1],
                               a.at({slice(2, -2, 3), newaxis, 7}),
                               transpose(a, {2, 0, 1}),
                               a.reshape({-1, 10}) * 2.0,
                               concat({a, a * 2.0}, 1),
                               stack({a[0], a[1]}, 0),
                               gather(a, index),
                               one_hot(index, 70),
                               broadcast_to(a[0][0], {3, 5}),
                               softmax(a)};
  });
}

TEST_F(EagerGpu, TheSameRandomNumbers) {
  compare([] {
    std::vector<Tensor> made;
    for (int seed = 0; seed < 5; ++seed) {
      made.push_back(random_normal({1000}, seed, 1, 2));
      made.push_back(random_uniform({1000}, seed, -3, 3));
      made.push_back(random_normal({100}, seed, 0, 1, DType::f64));
    }
    return made;
  });
}

// What a loop changes is no new kernel: each would be compiled.
TEST_F(EagerGpu, ScalarsSeedsAndWindowsNeedNoNewKernels) {
  Session session(on_gpu());
  const Tensor x = Tensor::of(std::vector<float>(64, 1.0f), {8, 8});
  const auto round = [&](int i) {
    return (x * (1.0 + i) + random_uniform({8, 8}, i) * 0.0 + x[i % 8] * 0.0)
               .to_floats()[0] -
           1.0f;
  };
  EXPECT_EQ(round(0), 0);
  EXPECT_EQ(round(1), 1);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 2; i < 1000; ++i) {
    ASSERT_EQ(round(i), static_cast<float>(i));
  }
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  printf("%.0f us a round of six ops with new numbers\n",
         taken.count() * 1e6 / 998);
  EXPECT_LT(taken.count(), 20) << session.explain();
}

TEST_F(EagerGpu, ATapesGradients) {
  compare([] { return loop_by_hand(1); });
  compare([] { return loop_by_hand(20); }, 1e-3);
}

// A variable's memory is written to where nobody else holds its value.
TEST_F(EagerGpu, VariablesThatAreSharedAndAssigned) {
  compare([] {
    const Tensor start = numbers({40, 30}, 1);
    Variable w(start, "w");
    const Tensor then = w.value();
    w.assign_add(ones({40, 30}));
    const Tensor later = w.value();
    w.assign_sub(start * 2.0);
    const Variable same = w;
    w.assign(w.value() * 0.5);
    return std::vector<Tensor>{start, then, later, w.value(), same.value()};
  });
}

std::vector<Tensor> trained_by_hand(const Optimizer& optimizer) {
  const Tensor x = random_uniform({64, 20}, 1, -1, 1);
  const Tensor y = matmul(x, random_uniform({20, 3}, 2, -1, 1));
  Variable w(random_normal({20, 3}, 3, 0, 0.1), "w");
  Variable b(zeros({3}), "b");
  const Tensor first = w.value();
  OptimizerState state(optimizer);
  Tensor loss;
  for (int i = 0; i < 30; ++i) {
    GradientTape tape;
    loss = mean_squared_error(y, matmul(x, w) + b);
    state.apply_gradients(tape.gradient(loss, {w, b}), {w, b});
  }
  return {loss, first, w.value(), b.value()};
}

TEST_F(EagerGpu, OptimizersByHand) {
  compare([] { return trained_by_hand(Adam{.learning_rate = 0.05}); }, 1e-3);
  compare([] { return trained_by_hand(SGD{.learning_rate = 0.1}); }, 1e-3);
}

TEST_F(EagerGpu, FunctionsArePlanned) {
  compare([] {
    std::vector<Variable> weights = {Variable(numbers({64, 300}, 1), "w"),
                                     Variable(numbers({300, 10}, 2), "v")};
    OptimizerState descent(SGD{.learning_rate = 0.01, .momentum = 0.9});
    int runs = 0;
    auto step = function([&](const Tensor& x, const Tensor& y) {
      ++runs;
      GradientTape tape;
      const Tensor hidden = tanh(matmul(x, weights[0]));
      const Tensor loss = mean_squared_error(y, matmul(hidden, weights[1]));
      descent.apply_gradients(tape.gradient(loss, weights), weights);
      return loss;
    });
    std::vector<Tensor> made;
    for (const std::int64_t batch : {32, 32, 7, 32}) {
      made.push_back(step(numbers({batch, 64}, 3), numbers({batch, 10}, 4)));
    }
    const Tensor then = weights[0];  // a copy is made before it changes
    made.push_back(step(numbers({32, 64}, 3), numbers({32, 10}, 4)));
    made.push_back(then);
    for (const Variable& weight : weights) made.push_back(weight.value());
    EXPECT_EQ(runs, 1);
    return made;
  });
}

// Read from the host by a step, and held after the iterator went on.
TEST_F(EagerGpu, BatchesOfIterators) {
  std::vector<float> x(250 * 1000), y(250);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 997) / 997;
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 7);
  const auto set = data::from_arrays(x.data(), {1000}, y.data(), {1}, 250)
                       .shuffle()
                       .batch(32)
                       .prefetch(2);
  compare_in_session([&](Session& session) {
    std::vector<Variable> weights = {Variable(zeros({1000, 1}), "w")};
    OptimizerState descent(SGD{.learning_rate = 0.001});
    auto step = function([&](const Tensor& features, const Tensor& labels) {
      GradientTape tape;
      const Tensor loss =
          mean_squared_error(labels, matmul(features, weights[0]));
      descent.apply_gradients(tape.gradient(loss, weights), weights);
      return loss;
    });
    std::vector<Tensor> made;
    auto iterator = set.iterate(session);
    while (const auto batch = iterator.next_tensors()) {
      made.push_back(step(batch.features, batch.labels));
      made.push_back(batch.features * 2.0);
      made.push_back(batch.labels);
    }
    EXPECT_EQ(made.size(), 3u * 8);
    made.push_back(weights[0]);
    return made;
  });
}

TEST_F(EagerGpu, SignaturesThatGoLeaveNothing) {
  Session session(on_gpu());
  auto f = function(
      [](const Tensor& x) {
        return sum(x * static_cast<double>(x.size()) + 1.0);
      },
      {.most_traces = 4, .most_plans = 4});
  const auto run = [&](std::int64_t width) { f(ones({2, width})); };
  for (std::int64_t i = 0; i < 8; ++i) run(1000 + i);
  const std::int64_t device = session.device_held_bytes();
  const std::int64_t host = session.host_held_bytes();
  for (std::int64_t i = 0; i < 16; ++i) run(1020 + i);
  EXPECT_LE(session.device_held_bytes(), device + (2 << 20));
  EXPECT_LE(session.host_held_bytes(), host + (1 << 20));
  EXPECT_EQ(f.traces(), 24);
}

TEST_F(EagerGpu, ScopesAndVariablesHaveTheirNamesInTheLedger) {
  Session session(on_gpu());
  const Variable w(ones({1024, 1024}), "w");
  const Scope scope("encoder");
  const Tensor x = w.value() * 2.0;
  EXPECT_THAT(session.explain(), HasSubstr("parameters  device  w"));
  EXPECT_THAT(session.explain(), HasSubstr("device  encoder"));
}

TEST_F(EagerGpu, SecondDerivativesAndLosses) {
  compare([] {
    const Tensor x = numbers({50}, 1);
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor first = inner.gradient(sum(x * x * x), x);
    return std::vector<Tensor>{first, outer.gradient(sum(first), x)};
  });
  compare([] {
    const Tensor labels = random_uniform({16, 4}, 1);
    const Tensor guess = random_uniform({16, 4}, 2, 0.05, 0.95);
    const Tensor index = Tensor::of(std::vector<std::int32_t>(16, 2), {16});
    GradientTape tape;
    tape.watch(guess);
    const Tensor loss = mean_squared_error(labels, guess) +
                        binary_crossentropy(labels, guess) +
                        sparse_categorical_crossentropy(index, guess) +
                        mean(square(tanh(guess) + gelu(guess)));
    return std::vector<Tensor>{loss, tape.gradient(loss, guess)};
  });
}

}  // namespace
}  // namespace plimsoll::train::testing
