// Tensors on a GPU that only pretends, in host memory: it computes nothing, but
// copies, memory, kernels and faults are as on a real one.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <optional>

#include "base/units.h"
#include "plimsoll/plimsoll.h"
#include "thrown.h"
#include "train/session_state.h"

namespace plimsoll::train::testing {
namespace {

using plimsoll::testing::thrown;
using ::testing::HasSubstr;
using ::testing::Not;

class EagerDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* library : {PLIMSOLL_FAKE_NVML, PLIMSOLL_FAKE_CUDA}) {
      ASSERT_NE(dlopen(library, RTLD_NOW), nullptr) << dlerror();
    }
    setenv("PLIMSOLL_CUDA_MODULE", PLIMSOLL_FAKE_CUDA_MODULE, 1);
    // The context of one device stands for the process from here on.
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
  }
  void SetUp() override {
    try {
      session_.emplace(SessionOptions{
          .host = "4GiB", .device = "cuda:0", .device_memory = "1GiB"});
    } catch (const Exception& missing) {
      GTEST_SKIP() << missing.what();
    }
  }

  Session& session() { return *session_; }
  std::int64_t device_bytes() { return session().device_held_bytes(); }
  // What the ledger says that one owner holds.
  std::int64_t held(const std::string& owner, Space space) {
    std::int64_t bytes = 0;
    for (const Holding& holding :
         session().state().machine().ledger().snapshot()) {
      if (holding.owner == owner && holding.space == space) {
        bytes += holding.bytes;
      }
    }
    return bytes;
  }
  std::int64_t mapped() {
    return session().state().machine().device()->memory().mapped_bytes();
  }

  std::optional<Session> session_;
};

TEST_F(EagerDevice, TheFirstTensorOpensTheDevice) {
  EXPECT_EQ(session().state().machine().device(), nullptr);
  EXPECT_EQ(device_bytes(), 0);
  EXPECT_EQ(session().host_held_bytes(), 0);
  const Tensor x = zeros({16});
  EXPECT_NE(session().state().machine().device(), nullptr);
  EXPECT_GE(held("context", Space::device), 300 * kMiB);
  EXPECT_GT(held("process", Space::host), 0);
  EXPECT_EQ(held("eager", Space::pinned), kMiB + 4096);
  EXPECT_EQ(mapped(), 2 * kMiB);
  EXPECT_EQ(device_bytes(), held("context", Space::device) +
                                held("kernels", Space::device) + mapped());
}

TEST_F(EagerDevice, NumbersComeBackAsTheyWent) {
  // Around the size of a piece, and many small ones behind each other.
  for (const int count : {1, 7, 131071, 131072, 131073, 262144, 1000003}) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      numbers[static_cast<std::size_t>(i)] = static_cast<float>(i ^ count);
    }
    const Tensor x = Tensor::of(numbers, {count});
    const Tensor y = Tensor::of(std::vector<float>{1, 2}, {2});
    EXPECT_EQ(x.to_floats(), numbers) << count;
    EXPECT_EQ(y.to_floats(), (std::vector<float>{1, 2}));
  }
  std::vector<Tensor> small;
  for (int i = 0; i < 40000; ++i) {
    small.push_back(Tensor::of(std::vector<float>{static_cast<float>(i)}, {}));
  }
  for (std::size_t i = 0; i < small.size(); i += 7) {
    ASSERT_EQ(small[i].to_floats()[0], static_cast<float>(i));
  }
}

TEST_F(EagerDevice, MemoryGoesBackAndIsReused) {
  Tensor x = zeros({256, 1024});  // 1 MiB
  for (int i = 0; i < 100; ++i) x = x + x;
  EXPECT_LE(mapped(), 4 * kMiB);
  {
    std::vector<Tensor> kept;
    for (int i = 0; i < 64; ++i) kept.push_back(x + x);
    EXPECT_GE(mapped(), 64 * kMiB);
    EXPECT_LE(mapped(), 72 * kMiB);
  }
  const std::int64_t before = mapped();
  for (int i = 0; i < 64; ++i) x = x + x;
  EXPECT_EQ(mapped(), before);
}

TEST_F(EagerDevice, OverTheLineIsCaughtAndTriedSmaller) {
  const Tensor kept = zeros({1024, 1024});
  const std::string why = thrown(
      [&] {
        zeros({1 << 20, 256});
      },
      Failure::over_budget);
  EXPECT_THAT(why, HasSubstr("of device memory"));
  EXPECT_THAT(why, HasSubstr("\"context\" (runtime)"));
  EXPECT_THAT(why, HasSubstr("\"eager\" (activations)"));
  EXPECT_TRUE(zeros({1 << 19, 256}).defined());
  EXPECT_LE(device_bytes(), kGiB);
  EXPECT_TRUE((kept + kept).defined());
}

TEST_F(EagerDevice, KernelsAreChargedAndSharedByNumbersThatDiffer) {
  const Tensor x = zeros({32});
  const std::int64_t none = held("kernels", Space::device);
  EXPECT_GT(none, 0);
  EXPECT_GT(held("kernels", Space::host), 0);
  const Tensor y = x * 2.0;
  const std::int64_t one = held("kernels", Space::device);
  EXPECT_GT(one, none);
  for (int i = 0; i < 400; ++i) x*(0.5 + i);
  EXPECT_EQ(held("kernels", Space::device), one);
  for (int i = 0; i < 8; ++i) random_uniform({32}, i);
  const std::int64_t random = held("kernels", Space::device);
  for (int i = 0; i < 100; ++i) random_uniform({32}, i);
  EXPECT_EQ(held("kernels", Space::device), random);
}

// Shapes that differ make kernels; the least used go.
TEST_F(EagerDevice, KernelsThatAreNotKeptAreTakenBack) {
  Tensor x = zeros({1});
  x + x;
  for (int i = 2; i < 600; ++i) {
    x = zeros({i});
    x + x;
  }
  const std::int64_t full = held("kernels", Space::device);
  for (int i = 600; i < 1200; ++i) {
    x = zeros({i});
    x + x;
  }
  EXPECT_EQ(held("kernels", Space::device), full);
}

TEST_F(EagerDevice, KernelsGoBeforeValuesAreRefused) {
  for (int i = 1; i < 600; ++i) {
    const Tensor x = zeros({i});
    x + x;
  }
  const std::int64_t kernels = held("kernels", Space::device);
  ASSERT_GE(kernels, 4 * kMiB);
  // All that the context leaves but what one kernel takes.
  const std::int64_t room = session().device_budget_bytes() -
                            held("context", Space::device) - 64 * kKiB;
  const Tensor large = zeros({room / (2 * kMiB) * (2 * kMiB) / 4});
  EXPECT_LT(held("kernels", Space::device), kernels / 2);
  EXPECT_LE(device_bytes(), session().device_budget_bytes());
}

// What is held elsewhere keeps its numbers: a copy on the device.
TEST_F(EagerDevice, VariablesAreCopiedWhereTheyAreShared) {
  const std::vector<float> numbers = {1, 2, 3};
  Variable w(Tensor::of(numbers, {3}), "w");
  const Tensor then = w.value();
  OptimizerState state(Adam{});
  state.apply_gradients({Tensor::of(numbers, {3})}, {w});
  EXPECT_EQ(then.to_floats(), numbers);
  // The fake computes nothing: the copy has the numbers of before.
  EXPECT_EQ(w.value().to_floats(), numbers);
  EXPECT_EQ(held("w", Space::device), 128) << "those of then, and of now";
}

TEST_F(EagerDevice, FunctionsArePlanned) {
  Variable w(zeros({64, 64}), "w");
  int runs = 0;
  auto step = function([&](const Tensor& x) {
    ++runs;
    const Tensor y = exp(matmul(x, w));
    w.assign_sub(matmul(x, y, true));
    return sum(y);
  });
  const Tensor x = zeros({8, 64});
  EXPECT_GE(step.planned_bytes(x), 8 * 64 * 4);
  { const Tensor first = step(x); }
  const std::int64_t held = device_bytes();
  for (int i = 0; i < 3; ++i) step(x);
  EXPECT_EQ(device_bytes(), held);
  step(zeros({16, 64}));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(step.plans(), 2);
  session().close();
  EXPECT_THAT(thrown([&] { step(x); }, Failure::bad_input),
              HasSubstr("closed"));
}

TEST_F(EagerDevice, CloseGivesAllBack) {
  const Tensor x = zeros({1024, 1024});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = exp(x);
  const std::string shown = getenv("FAKE_GPU_HELD");
  session().close();
  EXPECT_EQ(std::stoll(shown) - std::stoll(getenv("FAKE_GPU_HELD")), 8 * kMiB);
  EXPECT_EQ(x.shape(), (Extents{1024, 1024}));
  EXPECT_THAT(thrown([&] { x.to_floats(); }, Failure::bad_input),
              HasSubstr("closed"));
  EXPECT_THAT(thrown([&] { tape.gradient(y, x); }, Failure::bad_input),
              HasSubstr("closed"));
}

TEST_F(EagerDevice, PlansDoNotCountTheProcessTwice) {
  Sequential model{Dense(4)};
  model.compile(session());
  const std::vector<float> x(64 * 8), y(64 * 4);
  const auto data =
      data::from_arrays(x.data(), {8}, y.data(), {4}, 64).batch(8);
  const Plan before = model.plan(data);
  const Tensor small = ones({4});
  const Plan after = model.plan(data);
  EXPECT_LE(after.host_peak_bytes(), before.host_peak_bytes() + 2 * kMiB);
  EXPECT_LE(after.device_peak_bytes(), before.device_peak_bytes() + 4 * kMiB);
  EXPECT_GE(after.device_peak_bytes(), before.device_peak_bytes() + 2 * kMiB);
}

TEST_F(EagerDevice, ABudgetBelowTheContextIsRefusedBeforeIt) {
  session_.emplace(SessionOptions{
      .host = "4GiB", .device = "cuda:0", .device_memory = "64MiB"});
  EXPECT_THAT(thrown([] { zeros({4}); }, Failure::over_budget),
              HasSubstr("\"context\""));
  EXPECT_EQ(session().state().machine().device(), nullptr);
  EXPECT_EQ(device_bytes(), 0);
  EXPECT_EQ(session().host_held_bytes(), 0) << session().explain();
}

// What fails by itself is no fault of the device.
TEST_F(EagerDevice, AKernelThatCannotBeLoadedIsNamedAndNothingElse) {
  const Tensor x = zeros({8});
  setenv("FAKE_CUDA_FAILS", "load", 1);
  const std::string why = thrown([&] { exp(x); }, Failure::device);
  unsetenv("FAKE_CUDA_FAILS");
  EXPECT_THAT(why, HasSubstr("exp(f32[8]): CUDA_ERROR_INVALID_IMAGE"));
  EXPECT_THAT(why, Not(HasSubstr("began on the device")));
  EXPECT_TRUE(exp(x).defined());
  EXPECT_EQ(x.to_floats().size(), 8u);
}

class EagerDeviceFault : public EagerDevice {
 protected:
  // In a session whose `exp` fails, once it runs.
  void expect_blame(const std::function<void()>& work) {
    session_.reset();
    setenv("PLIMSOLL_PLANT_FAULT", "exp", 1);
    session_.emplace(SessionOptions{
        .host = "4GiB", .device = "cuda:0", .device_memory = "1GiB"});
    unsetenv("PLIMSOLL_PLANT_FAULT");
    const Tensor x = ones({64});
    const std::string why = thrown(work, Failure::device);
    EXPECT_THAT(why, HasSubstr("began on the device: exp"));
    EXPECT_THAT(why, Not(HasSubstr("exp or ")));
    // It stays so, and the session can be closed.
    EXPECT_THAT(thrown([&] { x.to_floats(); }, Failure::device),
                HasSubstr("began on the device: exp"));
    session().close();
  }
};

TEST_F(EagerDeviceFault, ComesOutWhenNumbersAreRead) {
  expect_blame([] { exp(ones({64})).to_floats(); });
}

// What the device cannot load any more is not to blame.
TEST_F(EagerDeviceFault, ComesOutWhenAnOpIsPrepared) {
  expect_blame([] { sum(exp(ones({64}))); });
}

TEST_F(EagerDeviceFault, ComesOutWhenAnOpIsLaunched) {
  expect_blame([] {
    const Tensor x = ones({64});
    x + x;
    exp(x);
    x + x;
  });
}

// Nor is there too little memory.
TEST_F(EagerDeviceFault, ComesOutWhenMemoryIsAskedFor) {
  expect_blame([] {
    const Tensor large = ones({1 << 20});
    exp(ones({64}));
    ones({1 << 20});
  });
}

}  // namespace
}  // namespace plimsoll::train::testing
