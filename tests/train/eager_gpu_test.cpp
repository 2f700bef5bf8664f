// Tensors and tapes on a GPU: the CPU's numbers, and memory by the line.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/units.h"
#include "device/cuda_device.h"
#include "plimsoll/plimsoll.h"
#include "train/cuda_profile.h"
#include "train/device_meter.h"

namespace plimsoll::train::testing {
namespace {

using ::testing::HasSubstr;

class EagerGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto memory = cuda_memory("cuda:0");
    if (!memory) GTEST_SKIP() << "needs a GPU: " << memory.error().message;
    const auto module = open_cuda_module();
    if (!module) GTEST_SKIP() << "needs a GPU: " << module.error().message;
  }

  static SessionOptions on_gpu(const char* device_memory = "2GiB") {
    return {.host = "8GiB", .device = "cuda:0", .device_memory = device_memory};
  }
  static SessionOptions on_cpu() { return {.host = "8GiB"}; }

  using Work = std::function<std::vector<Tensor>()>;
  // What `work` makes on the GPU is what it makes on the CPU, to rounding.
  static void compare(const Work& work, double tolerance = 1e-5) {
    const auto numbers = [&](const SessionOptions& options) {
      const Session session(options);
      std::vector<std::vector<double>> all;
      for (const Tensor& tensor : work()) all.push_back(tensor.to_doubles());
      return all;
    };
    const auto here = numbers(on_gpu());
    const auto there = numbers(on_cpu());
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      ASSERT_EQ(here[i].size(), there[i].size()) << "result " << i;
      for (std::size_t j = 0; j < here[i].size(); ++j) {
        ASSERT_NEAR(here[i][j], there[i][j],
                    tolerance * (1 + std::abs(there[i][j])))
            << "result " << i << ", element " << j;
      }
    }
  }

  static Tensor numbers(Extents shape, std::int64_t seed) {
    return random_uniform(std::move(shape), seed, -1, 1);
  }

  template <class F>
  static std::string thrown(F&& work, Failure failure) {
    try {
      work();
    } catch (const Exception& exception) {
      EXPECT_EQ(exception.failure(), failure) << exception.what();
      return exception.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
};

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

std::vector<Tensor> loop_by_hand(int steps) {
  const Tensor x = random_uniform({256, 100}, 1, -1, 1);
  const Tensor y =
      one_hot(argmax(matmul(x, random_uniform({100, 10}, 2)), 1), 10);
  Tensor w1 = random_normal({100, 64}, 3, 0, 0.1);
  Tensor b1 = zeros({64});
  Tensor w2 = random_normal({64, 10}, 4, 0, 0.1);
  Tensor loss;
  std::vector<Tensor> gradients;
  for (int i = 0; i < steps; ++i) {
    GradientTape tape;
    for (const Tensor& one : {w1, b1, w2}) tape.watch(one);
    const Tensor hidden = relu(matmul(x, w1) + b1);
    loss = mean(softmax_cross_entropy_with_logits(y, matmul(hidden, w2)));
    gradients = tape.gradient(loss, {w1, b1, w2});
    const double rate = 0.5 / (1 + 0.1 * i);
    w1 -= gradients[0] * rate;
    b1 -= gradients[1] * rate;
    w2 -= gradients[2] * rate;
  }
  return {loss, gradients[0], gradients[1], gradients[2], w1};
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

TEST_F(EagerGpu, MemoryGoesBackAndIsReused) {
  Session session(on_gpu());
  Tensor x = ones({1024, 1024});
  EXPECT_EQ(sum(x).item(), 1024 * 1024);
  const std::int64_t one = session.device_held_bytes();
  EXPECT_LE(one, session.device_budget_bytes());
  for (int i = 0; i < 100; ++i) x = x * 1.01 + 0.5;
  EXPECT_LE(session.device_held_bytes(), one + 16 * kMiB) << session.explain();
  {
    std::vector<Tensor> kept;
    for (int i = 0; i < 50; ++i) kept.push_back(x + 1.0 * i);
    EXPECT_GE(session.device_held_bytes(), one + 190 * kMiB);
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(kept[static_cast<std::size_t>(i)][0][0].item(),
                (x[0][0] + 1.0 * i).item());
    }
  }
  const std::int64_t held = session.device_held_bytes();
  for (int i = 0; i < 50; ++i) x = x * 0.99;
  EXPECT_LE(session.device_held_bytes(), held);
  EXPECT_THAT(session.explain(), HasSubstr("device  context"));
}

TEST_F(EagerGpu, OverTheLineIsCaughtAndTriedSmaller) {
  Session session(on_gpu("1GiB"));
  auto meter = DeviceMeter::open(0);
  ASSERT_TRUE(meter) << meter.error().message;
  std::int64_t rows = 1 << 20;
  int refused = 0;
  Tensor made;
  while (!made.defined()) {
    const std::string why = [&]() -> std::string {
      try {
        const Tensor x = ones({rows, 256});
        made = sum(x + x * 2.0);
        return "";
      } catch (const Exception& over) {
        EXPECT_EQ(over.failure(), Failure::over_budget) << over.what();
        return over.what();
      }
    }();
    if (made.defined()) break;
    EXPECT_THAT(why, HasSubstr("of device memory"));
    EXPECT_THAT(why, HasSubstr("\"context\""));
    ++refused;
    rows /= 2;
    ASSERT_GT(rows, 1024);
  }
  EXPECT_GE(refused, 1);
  EXPECT_EQ(made.item(), 3.0 * 256 * static_cast<double>(rows));
  EXPECT_LE(session.device_held_bytes(), session.device_budget_bytes());
  EXPECT_LE(meter->read(), session.device_budget_bytes());
}

TEST_F(EagerGpu, ABudgetBelowTheContextIsRefusedBeforeIt) {
  Session session(on_gpu("64MiB"));
  const std::string why = thrown([] { ones({4}); }, Failure::over_budget);
  EXPECT_THAT(why, HasSubstr("\"context\""));
  EXPECT_EQ(session.device_held_bytes(), 0) << session.explain();
}

TEST_F(EagerGpu, TensorsAndTapesOutliveTheirSession) {
  Tensor x, y;
  std::optional<GradientTape> tape;
  {
    Session session(on_gpu());
    x = ones({4, 4});
    tape.emplace(TapeOptions{.persistent = true});
    tape->watch(x);
    y = sum(matmul(x, x) * 2.0);
    session.close();
    EXPECT_EQ(session.device_held_bytes(), 0);
  }
  EXPECT_EQ(x.shape(), (Extents{4, 4}));
  EXPECT_THAT(thrown([&] { y.item(); }, Failure::bad_input),
              HasSubstr("closed"));
  EXPECT_THAT(thrown([&] { tape->gradient(y, x); }, Failure::bad_input),
              HasSubstr("closed"));
  const Session another(on_gpu());
  EXPECT_THROW(x + ones({4, 4}), Exception);
  EXPECT_EQ(sum(ones({4})).item(), 4);
}

// The context is kept by a device of the test's own.
TEST_F(EagerGpu, AfterCloseTheDriverShowsTheContextAlone) {
  auto meter = DeviceMeter::open(0);
  ASSERT_TRUE(meter) << meter.error().message;
  const auto context = (*open_cuda_module())->open(0, "");
  ASSERT_TRUE(context) << context.error().message;
  const std::int64_t before = meter->read();
  Session session(on_gpu());
  EXPECT_EQ(meter->read(), before) << "the session takes nothing by itself";
  const Tensor x = ones({4096, 4096});
  const Tensor y = x * 2.0 + x;
  EXPECT_EQ(y[5][7].item(), 3);
  const std::int64_t with = meter->read();
  EXPECT_GE(with, before + 128 * kMiB);
  session.close();
  const std::int64_t after = meter->read();
  printf("%s: context %lld, with tensors %lld, closed %lld\n", meter->method(),
         static_cast<long long>(before), static_cast<long long>(with),
         static_cast<long long>(after));
  EXPECT_LE(after, before);
}

// With products by the library, whose code stays with the context.
TEST_F(EagerGpu, SessionsComeAndGoWithoutATrace) {
  auto meter = DeviceMeter::open(0);
  ASSERT_TRUE(meter) << meter.error().message;
  const auto context = (*open_cuda_module())->open(0, "");
  ASSERT_TRUE(context) << context.error().message;
  std::vector<std::int64_t> closed;
  for (int i = 0; i < 4; ++i) {
    {
      const Session session(on_gpu());
      loop_by_hand(3);
      matmul(ones({2048, 2048}), ones({2048, 2048})).to_floats();
      EXPECT_LE(meter->read(), session.device_held_bytes())
          << session.explain();
    }
    closed.push_back(meter->read());
  }
  EXPECT_EQ(closed[1], closed[2]);
  EXPECT_EQ(closed[1], closed[3]);
}

TEST_F(EagerGpu, AHundredThousandOpsGrowNothing) {
  Session session(on_gpu());
  Tensor x = numbers({32, 32}, 1);
  const Tensor y = numbers({32, 32}, 2) * 0.01;
  const auto ops = [&](int count) {
    for (int i = 0; i < count; ++i) {
      x = i % 10 == 0 ? matmul(x, y) + y : x * 0.5 + y;
    }
    return sum(x).item();
  };
  ops(1000);
  const std::int64_t device = session.device_held_bytes();
  const std::int64_t host = session.host_held_bytes();
  auto meter = DeviceMeter::open(0);
  ASSERT_TRUE(meter) << meter.error().message;
  const std::int64_t shown = meter->read();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(std::isfinite(ops(50'000)));
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  printf("%.2f us an op of 32 x 32\n", taken.count() * 1e6 / 100'000);
  EXPECT_EQ(session.device_held_bytes(), device) << session.explain();
  EXPECT_EQ(session.host_held_bytes(), host) << session.explain();
  EXPECT_EQ(meter->read(), shown);
}

TEST_F(EagerGpu, ModelsAndTensorsShareASession) {
  Session session(on_gpu());
  const Tensor before = ones({1000}) * 2.0;
  Sequential model{Dense(16, relu), Dense(1)};
  model.compile(session);
  const std::vector<float> x(64 * 8, 0.5f), y(64, 1.0f);
  const auto data = data::from_arrays(x.data(), {8}, y.data(), {}, 64).batch(8);
  const std::int64_t planned = model.plan(data).device_peak_bytes();
  model.fit(data);
  EXPECT_EQ(sum(before).item(), 2000);
  EXPECT_LE(model.plan(data).device_peak_bytes(), planned + 8 * kMiB);
}

// In a process of its own: a device does not recover from it.
TEST_F(EagerGpu, AFaultNamesTheOp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [](const char* op) {
    setenv("PLIMSOLL_PLANT_FAULT", op, 1);
    const Session session(on_gpu());
    try {
      const Tensor x = ones({64, 64});
      const Tensor y = exp(x * 2.0);
      sum(transpose(y) + x).to_floats();
    } catch (const Exception& error) {
      fprintf(stderr, "%d %s\n", static_cast<int>(error.failure()),
              error.what());
      // It stays so, and the session can be closed.
      try {
        ones({2}).to_floats();
      } catch (const Exception&) {
        exit(3);
      }
    }
    exit(0);
  };
  const std::string device =
      std::to_string(static_cast<int>(Failure::device)) + " .*";
  EXPECT_EXIT(fail("exp"), ::testing::ExitedWithCode(3), device + "exp");
  EXPECT_EXIT(fail("transpose"), ::testing::ExitedWithCode(3),
              device + "transpose");
}

}  // namespace
}  // namespace plimsoll::train::testing
