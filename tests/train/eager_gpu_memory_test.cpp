// Tensors on a GPU: memory by the line, sessions that go, faults.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/units.h"
#include "device/cuda_device.h"
#include "train/device_meter.h"
#include "train/eager_gpu_fixture.h"

namespace plimsoll::train::testing {
namespace {

using ::testing::HasSubstr;

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
  const std::int64_t n = emulated() ? 256 : 2048;
  for (int i = 0; i < 4; ++i) {
    {
      const Session session(on_gpu());
      loop_by_hand(3);
      matmul(ones({n, n}), ones({n, n})).to_floats();
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
  EXPECT_TRUE(std::isfinite(ops(emulated() ? 2'000 : 50'000)));
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  if (!emulated()) {
    printf("%.2f us an op of 32 x 32\n", taken.count() * 1e6 / 100'000);
  }
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
