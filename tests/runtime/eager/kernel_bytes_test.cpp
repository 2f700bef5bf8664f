// What kernels of eager ops hold for themselves, and when they go.
#include <gmock/gmock.h>

#include <optional>

#include "base/units.h"
#include "plimsoll/plimsoll.h"
#include "runtime/eager/eager_fixture.h"
#include "runtime/eager/launch_history.h"
#include "runtime/eager/process_bytes.h"

namespace plimsoll::runtime::testing {
namespace {

class KernelBytesTest : public EagerTest {
 protected:
  std::int64_t held() const {
    for (const Holding& holding : ledger_.snapshot()) {
      if (holding.owner != "kernels") continue;
      EXPECT_EQ(holding.purpose, Purpose::runtime);
      EXPECT_EQ(holding.bytes, eager_->prepared().held_bytes());
      return holding.bytes;
    }
    return 0;
  }
};

TEST_F(KernelBytesTest, AreChargedOnceAnOpAndTakenBackAtTheEnd) {
  EXPECT_EQ(held(), 0);
  const Tensor x = ones({3, 4});
  const std::int64_t first = held();
  EXPECT_GT(first, 0);
  transpose(x);
  const std::int64_t second = held();
  EXPECT_GT(second, first);
  transpose(x);
  EXPECT_EQ(held(), second);
  // A tape that is left needs no kernels.
  GradientTape tape;
  tape.watch(x);
  const Tensor y = matmul(x, transpose(x));
  eager_->close();
  EXPECT_EQ(ledger_.held_bytes(Space::host), 0);
}

TEST_F(KernelBytesTest, KernelsThatAreNotKeptGo) {
  for (int i = 1; i < 600; ++i) transpose(ones({i, 2}));
  const std::int64_t full = held();
  EXPECT_EQ(eager_->prepared().size(), 512u);
  for (int i = 600; i < 1200; ++i) transpose(ones({i, 2}));
  EXPECT_EQ(eager_->prepared().size(), 512u);
  EXPECT_NEAR(static_cast<double>(held()), static_cast<double>(full),
              0.05 * static_cast<double>(full));
}

TEST_F(KernelBytesTest, AtTheLimitKernelsGoBeforeValuesAreRefused) {
  GradientTape tape;  // keeps ops, not their kernels
  for (int i = 1; i < 300; ++i) {
    const Tensor x = ones({i, 3});
    tape.watch(x);
    transpose(x);
  }
  const std::int64_t kernels = held();
  ASSERT_GE(kernels, 64 * kKiB);
  const std::int64_t before = ledger_.held_bytes(Space::host);
  ledger_.set_limit(Space::host, before);
  // More than is free in the pool, less than kernels leave.
  const std::int64_t free = eager_->pool().held_bytes() - live_bytes();
  const Tensor large = ones({(free + kernels / 2) / 4});
  EXPECT_EQ(sum(large).item(), static_cast<double>(large.size()));
  EXPECT_LT(held(), kernels / 2);
  EXPECT_LE(ledger_.held_bytes(Space::host), before);
}

// What kernels could not help with leaves them alone.
TEST_F(KernelBytesTest, AreKeptWhereTheyWouldNotSuffice) {
  transpose(ones({5, 3}));
  const std::int64_t kernels = held();
  ledger_.set_limit(Space::host, ledger_.held_bytes(Space::host) + 16 * kMiB);
  thrown([] { ones({1000, 1000, 1000}); }, Failure::over_budget);
  EXPECT_GE(held(), kernels);
}

TEST_F(KernelBytesTest, AtTheLimitOtherKernelsGoFirst) {
  for (int i = 1; i < 300; ++i) transpose(ones({i, 3}));
  const std::int64_t kernels = held();
  ledger_.set_limit(Space::host, ledger_.held_bytes(Space::host));
  const Tensor x = ones({2, 2, 2});
  EXPECT_EQ(transpose(x, {2, 0, 1}).to_floats(), std::vector<float>(8, 1));
  EXPECT_LT(held(), kernels / 2);
}

TEST(ProcessBytesTest, AllOrNothingAndTheLargerCounts) {
  Ledger ledger;
  ledger.set_limit(Space::device, 100);
  ProcessBytes process(ledger);
  const auto part = [](const char* owner, Space space, std::int64_t bytes) {
    return Holding{owner, Purpose::runtime, space, bytes};
  };
  ASSERT_TRUE(process.add(part("process", Space::host, 50)));
  ASSERT_TRUE(process.add(part("context", Space::device, 120)));
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
  const auto refused = process.charge();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
  EXPECT_FALSE(process.charged());

  ledger.set_limit(Space::device, 150);
  ASSERT_TRUE(process.charge());
  EXPECT_EQ(process.held_bytes(Space::device), 120);
  ASSERT_TRUE(process.add(part("context", Space::device, 60)));
  EXPECT_EQ(ledger.held_bytes(Space::device), 120);
  ASSERT_TRUE(process.add(part("context", Space::device, 130)));
  EXPECT_EQ(ledger.held_bytes(Space::device), 130);
  EXPECT_FALSE(process.add(part("library", Space::device, 30)));
  EXPECT_EQ(process.held_bytes(Space::device), 130);
  EXPECT_EQ(ledger.held_bytes(Space::device), 130);
  process.release();
  EXPECT_EQ(process.held_bytes(Space::device), 0);
  EXPECT_EQ(ledger.held_bytes(Space::device), 0);
  ASSERT_TRUE(process.charge());
  EXPECT_EQ(ledger.held_bytes(Space::device), 130);
}

TEST(LaunchHistoryTest, NamesWhatBeganAndWhatWouldNotHaveSaidSo) {
  graph::OpDef add{.name = "add"}, product{.name = "matmul"},
      exp{.name = "exp"};
  LaunchHistory history;
  EXPECT_EQ(history.suspects(0), "");
  const auto first = history.add(add, true);
  history.add(product, false);
  history.add(product, false);
  const auto last = history.add(exp, true);
  EXPECT_EQ(history.suspects(0), "add or matmul");
  EXPECT_EQ(history.suspects(first), "add or matmul");
  EXPECT_EQ(history.suspects(last), "exp");
  history.settle();
  EXPECT_EQ(history.suspects(last), "");
  // What was written last is of before: a library's work failed.
  history.add(product, false);
  history.add(exp, true);
  EXPECT_EQ(history.suspects(last), "matmul");
  // Far more than are kept.
  for (int i = 0; i < 10000; ++i) history.add(add, true);
  const auto late = history.add(product, true);
  EXPECT_EQ(history.suspects(late), "matmul");
}

}  // namespace
}  // namespace plimsoll::runtime::testing
