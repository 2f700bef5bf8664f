// The C++ API on a GPU: the same model's life as on the CPU, two memories, and
// what the driver shows once a session is closed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/units.h"
#include "device/cuda_device.h"
#include "plimsoll/plimsoll.h"
#include "train/device_meter.h"
#include "train/missing_gpu.h"
#include "train/process_config.h"

namespace plimsoll::train::testing {
namespace {

const char* const kNames[] = {"dense_1/kernel", "dense_1/bias",
                              "dense_2/kernel", "dense_2/bias"};

class SessionGpu : public ::testing::Test {
 protected:
  static constexpr int kExamples = 500;
  static constexpr int kFeatures = 12;

  void SetUp() override {
    const std::string missing = missing_gpu();
    if (!missing.empty()) GTEST_SKIP() << missing;
    for (int i = 0; i < kExamples; ++i) {
      for (int j = 0; j < kFeatures; ++j) {
        x_.push_back(static_cast<float>((i * 37 + j * 61) % 101 - 50) / 50);
      }
      y_.push_back(x_[static_cast<std::size_t>(i * kFeatures)] > 0 ? 1.F : 0.F);
    }
  }

  static SessionOptions on_gpu() {
    return {.host = "4GiB", .device = "cuda:0", .device_memory = "2GiB"};
  }
  static SessionOptions on_cpu() { return {.host = "4GiB"}; }

  data::Dataset set() const {
    return data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, kExamples)
        .shuffle()
        .batch(64)
        .prefetch();
  }
  static Sequential model(Session& session, std::int64_t units = 32) {
    Sequential made{Dense(units, relu), Dense(1, sigmoid)};
    made.compile(session,
                 {.loss = binary_crossentropy, .metrics = {"accuracy"}});
    return made;
  }
  static void expect_near(const std::vector<double>& here,
                          const std::vector<double>& there) {
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_NEAR(here[i], there[i], 1e-4 * std::abs(there[i]) + 1e-5) << i;
    }
  }

  std::vector<float> x_, y_;
};

TEST_F(SessionGpu, TrainsAsTheCpuDoes) {
  Session gpu(on_gpu());
  Session cpu(on_cpu());
  Sequential here = model(gpu);
  Sequential there = model(cpu);
  const FitHistory history = here.fit(set(), {.epochs = 6});
  EXPECT_LT(history.loss.back(), 0.9 * history.loss.front());
  expect_near(history.loss, there.fit(set(), {.epochs = 6}).loss);
  for (const char* name : kNames) {
    expect_near(here.weights(name), there.weights(name));
  }
  const Evaluation mine = here.evaluate(set());
  const Evaluation theirs = there.evaluate(set());
  EXPECT_NEAR(mine.loss, theirs.loss, 1e-4);
  EXPECT_NEAR(mine.metrics.at("accuracy"), theirs.metrics.at("accuracy"), 0.01);
  const auto plain =
      data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, kExamples)
          .batch(48);
  const std::vector<float> predicted = here.predict(plain);
  const std::vector<float> wanted = there.predict(plain);
  ASSERT_EQ(predicted.size(), static_cast<std::size_t>(kExamples));
  ASSERT_EQ(wanted.size(), predicted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(predicted[i], wanted[i], 1e-4F) << i;
  }
}

TEST_F(SessionGpu, SumsGradientsAndSavesWeightsAsTheCpuDoes) {
  // 500 examples by 64: the second group is shorter, its last batch too.
  const auto trained = [&](const SessionOptions& options,
                           const std::string& path) {
    Session session(options);
    Sequential made{Dense(32, relu), Dense(1, sigmoid)};
    const CompileOptions how{.loss = binary_crossentropy,
                             .accumulation_steps = 5};
    made.compile(session, how);
    const FitHistory history = made.fit(set(), {.epochs = 6});
    EXPECT_EQ(history.forecast_device_bytes, history.measured_device_bytes);
    made.save_weights(path);
    const auto weights = made.weights("dense_1/kernel");
    made.compile(session, how);
    made.fit(set());
    EXPECT_NE(made.weights("dense_1/kernel"), weights);
    made.load_weights(path);
    EXPECT_EQ(made.weights("dense_1/kernel"), weights);
    return weights;
  };
  const std::string path = ::testing::TempDir() + "session_gpu.safetensors";
  expect_near(trained(on_gpu(), path), trained(on_cpu(), path));
  std::remove(path.c_str());
}

TEST_F(SessionGpu, AScopePlacesLayersOnTheCpu) {
  Session session(on_gpu());
  const auto placed = [&](bool beside) {
    std::vector<Layer> layers;
    if (beside) {
      const auto on_host = device("cpu");
      layers.push_back(Dense(32, relu));
    } else {
      layers.push_back(Dense(32, relu));
    }
    layers.push_back(Dense(1, sigmoid));
    Sequential made(layers);
    made.compile(session, {.loss = binary_crossentropy});
    return made;
  };
  Sequential mixed = placed(true);
  Sequential whole = placed(false);
  // Twice: what is kept between lies in both memories.
  for (int i = 0; i < 2; ++i) {
    const FitHistory history = mixed.fit(set(), {.epochs = 3});
    expect_near(history.loss, whole.fit(set(), {.epochs = 3}).loss);
    EXPECT_EQ(history.forecast_device_bytes, history.measured_device_bytes);
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
    for (const char* name : kNames) {
      expect_near(mixed.weights(name), whole.weights(name));
    }
  }
}

TEST_F(SessionGpu, TheSameBitsTwice) {
  std::vector<FitHistory> histories;
  std::vector<std::vector<double>> kernels;
  for (int i = 0; i < 2; ++i) {
    Session session(on_gpu());
    Sequential made = model(session, 300);
    histories.push_back(made.fit(set(), {.epochs = 3}));
    kernels.push_back(made.weights("dense_1/kernel"));
  }
  EXPECT_EQ(histories[0].loss, histories[1].loss);
  EXPECT_EQ(kernels[0], kernels[1]);
}

TEST_F(SessionGpu, FitGoesOnWhereItStopped) {
  Session session(on_gpu());
  // Without shuffling the order is the same in every epoch.
  const auto plain =
      data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, kExamples)
          .batch(64);
  Sequential once = model(session);
  const FitHistory four = once.fit(plain, {.epochs = 4});
  Sequential twice = model(session);
  FitHistory parts = twice.fit(plain, {.epochs = 1});
  twice.evaluate(plain);
  const FitHistory rest = twice.fit(plain, {.epochs = 3});
  parts.loss.insert(parts.loss.end(), rest.loss.begin(), rest.loss.end());
  EXPECT_EQ(parts.loss, four.loss);
  for (const char* name : kNames) {
    EXPECT_EQ(once.weights(name), twice.weights(name)) << name;
  }
}

TEST_F(SessionGpu, PoolsAreAsForecast) {
  Session session(on_gpu());
  EXPECT_EQ(session.device_budget_bytes(), 2 * kGiB);
  Sequential first = model(session, 1000);
  const Plan plan = first.plan(set());
  EXPECT_TRUE(plan.fits()) << plan.summary();
  EXPECT_EQ(session.device_held_bytes(), 0);
  Sequential second = model(session);
  for (Sequential* made : {&first, &second, &first}) {
    const FitHistory history = made->fit(set());
    EXPECT_GT(history.forecast_device_bytes, 0);
    EXPECT_EQ(history.forecast_device_bytes, history.measured_device_bytes);
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
    EXPECT_LT(history.measured_device_bytes, plan.device_peak_bytes());
  }
  // The weights stay, in whole granules, and nothing of the host's.
  EXPECT_GT(session.device_held_bytes(), 0);
  EXPECT_LE(session.device_held_bytes(), 4 * kMiB) << session.explain();
  EXPECT_EQ(session.host_held_bytes(), 0) << session.explain();
  EXPECT_EQ(first.plan(set()).device_peak_bytes(),
            plan.device_peak_bytes() + session.device_held_bytes());
}

TEST_F(SessionGpu, WithoutGrowthTheBudgetIsTaken) {
  reset_config();
  config::set_memory_growth("cuda:0", false);
  {
    auto meter = DeviceMeter::open(0);
    ASSERT_TRUE(meter) << meter.error().message;
    Session session(on_gpu());
    Sequential made = model(session);
    std::int64_t seen = 0;
    const auto look = [&](std::int64_t, double) {
      seen = std::max(seen, meter->read());
    };
    const Plan plan = made.plan(set());
    EXPECT_GT(plan.device_peak_bytes(), 2 * kGiB - 2 * kMiB);
    const FitHistory history = made.fit(set(), {.on_progress = look});
    EXPECT_EQ(history.forecast_device_bytes, history.measured_device_bytes);
    EXPECT_LE(seen, 2 * kGiB);
    EXPECT_GT(seen, 2 * kGiB - 64 * kMiB);
  }
  reset_config();
}

TEST_F(SessionGpu, ASmallBudgetIsRefused) {
  Session session(
      {.host = "4GiB", .device = "cuda:0", .device_memory = "100MiB"});
  Sequential made = model(session);
  EXPECT_FALSE(made.plan(set()).fits());
  try {
    made.fit(set());
    FAIL() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_EQ(error.failure(), Failure::does_not_fit) << error.what();
  }
  EXPECT_EQ(session.device_held_bytes(), 0);
}

TEST_F(SessionGpu, AnotherThreadMayTrain) {
  Session session(on_gpu());
  Sequential made = model(session);
  const FitHistory first = made.fit(set());
  std::vector<double> kernel;
  FitHistory second;
  std::thread([&] {
    second = made.fit(set());
    kernel = made.weights("dense_1/kernel");
  }).join();
  EXPECT_LT(second.loss.back(), first.loss.front());
  EXPECT_EQ(kernel, made.weights("dense_1/kernel"));
}

// The context is kept by a device of the test's own.
TEST_F(SessionGpu, AfterCloseTheDriverShowsTheContextAlone) {
  auto meter = DeviceMeter::open(0);
  ASSERT_TRUE(meter) << meter.error().message;
  const auto context = (*open_cuda_module())->open(0, "");
  ASSERT_TRUE(context) << context.error().message;
  const std::int64_t before = meter->read();
  EXPECT_GT(before, 0);
  Session session(on_gpu());
  Sequential made = model(session);
  made.fit(set());
  const std::int64_t kept = meter->read();
  EXPECT_GT(kept, before) << "the weights";
  session.close();
  const std::int64_t after = meter->read();
  printf("%s: context %lld, with weights %lld, closed %lld\n", meter->method(),
         static_cast<long long>(before), static_cast<long long>(kept),
         static_cast<long long>(after));
  EXPECT_LE(after, before);
  EXPECT_THROW(made.fit(set()), Exception);
}

// With the library of products, whose code stays with the context.
TEST_F(SessionGpu, SessionsComeAndGoWithoutATrace) {
  auto meter = DeviceMeter::open(0);
  ASSERT_TRUE(meter) << meter.error().message;
  const auto context = (*open_cuda_module())->open(0, "");
  ASSERT_TRUE(context) << context.error().message;
  std::vector<std::int64_t> closed;
  for (int i = 0; i < 4; ++i) {
    {
      Session session(on_gpu());
      Sequential made{Dense(1024, relu), Dense(1024, relu), Dense(1, sigmoid)};
      made.compile(session, {.loss = binary_crossentropy});
      made.fit(data::random(512, {1024}).batch(256));
    }
    closed.push_back(meter->read());
  }
  EXPECT_EQ(closed[1], closed[2]);
  EXPECT_EQ(closed[1], closed[3]);
}

}  // namespace
}  // namespace plimsoll::train::testing
