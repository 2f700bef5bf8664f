// Readers and the consumer under changing speeds.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "data/feeder_fixture.h"
#include "data/numbered_set.h"
#include "data/views/order_views.h"

namespace plimsoll::data {
namespace {

FeederOptions threaded(std::int64_t batch, int slots, int readers) {
  FeederOptions options;
  options.batch = batch;
  options.slots = slots;
  options.readers = readers;
  return options;
}

Input shuffled(std::int64_t size) {
  return input_over(
      std::make_shared<ShuffledView>(std::make_shared<NumberedSet>(size), 1));
}

// The first batch is not ready before the second has been read.
class SecondFirst final : public Indexed {
 public:
  std::string name() const override { return "second first"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return 2; }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext&) const override {
    constexpr auto kPatience = std::chrono::seconds(20);
    const auto start = std::chrono::steady_clock::now();
    const auto number = static_cast<std::int32_t>(numbers[0]);
    while (number == 0 && !second_) {
      if (std::chrono::steady_clock::now() - start > kPatience) {
        return Error{ErrorCode::io, "nobody read the second batch"};
      }
      std::this_thread::yield();
    }
    if (number == 1) second_ = true;
    std::memcpy(rows[0], &number, sizeof(number));
    return {};
  }
  std::string whereabouts(std::int64_t) const override { return ""; }
  std::string describe() const override { return name(); }

 private:
  ElementSpec spec_{fixed_field("number", DType::i32, {})};
  mutable std::atomic<bool> second_{false};
};

TEST(FeederHelp, AConsumerThatWouldWaitReads) {
  FedBy fed(input_over(std::make_shared<SecondFirst>()),
            threaded(1, 1 + kSlotsToHelp, 1));
  ASSERT_TRUE(fed.feeder->start({}));
  for (std::int32_t number = 0; number < 2; ++number) {
    const auto batch = fed.feeder->next();
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ(*static_cast<const std::int32_t*>(batch->field(0)), number);
    fed.feeder->release(batch->slot);
  }
}

class FeederThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Readers, FeederThreads, testing::Values(1, 2, 5));

TEST_P(FeederThreads, ManySmallBatchesAtFullSpeed) {
  for (const int slots : {1, 2, 4, 8}) {
    FedBy fed(shuffled(5000), threaded(1, slots, GetParam()));
    ASSERT_TRUE(fed.feeder->start({slots, 0, {}}));
    const auto labels = drain(*fed.feeder, 1, 5000);
    const auto sum = std::accumulate(labels.begin(), labels.end(), 0ll);
    EXPECT_EQ(sum, 5000ll * 4999 / 2);
  }
}

TEST_P(FeederThreads, SlowAndBurstyConsumers) {
  FedBy fed(shuffled(400), threaded(1, 4, GetParam()));
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  for (int i = 0; i < 100; ++i) {
    // Takes three, releases them out of order: the reader sleeps and wakes.
    const auto a = fed.feeder->next();
    const auto b = fed.feeder->next();
    const auto c = fed.feeder->next();
    ASSERT_TRUE(a && b && c);
    if (i % 10 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const auto* batch : {&*c, &*a, &*b}) {
      const float x = *static_cast<const float*>((*batch).field(0));
      const auto y = *static_cast<const std::int32_t*>((*batch).field(1));
      ASSERT_EQ(x, static_cast<float>(y * 10));
      fed.feeder->release(batch->slot);
    }
  }
}

TEST_P(FeederThreads, EpochsAbandonedAtAnyMoment) {
  FedBy fed(shuffled(64), threaded(4, 3, GetParam()));
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(fed.feeder->start({i, 0, {}}));
    for (int taken = 0; taken < i % 5; ++taken) {
      const auto batch = fed.feeder->next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->first, 4 * taken);
      if (taken % 2 == 0 || taken == 3) fed.feeder->release(batch->slot);
      if (taken == 3) break;
    }
  }
  ASSERT_TRUE(fed.feeder->start({1000, 0, {}}));
  EXPECT_EQ(drain(*fed.feeder, 4, 64).size(), 64u);
}

TEST_P(FeederThreads, StopsWhereverTheReaderIs) {
  for (int i = 0; i < 100; ++i) {
    FedBy fed(shuffled(1000), threaded(2, 2, GetParam()));
    if (i % 4 > 0) {
      ASSERT_TRUE(fed.feeder->start({i, 0, {}}));
    }
    if (i % 4 > 1) {
      ASSERT_TRUE(fed.feeder->next());
    }
    if (i % 4 > 2) {  // until the reader sleeps
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

TEST_P(FeederThreads, ReadsAheadOnlyAsFarAsTheRing) {
  const auto set = std::make_shared<NumberedSet>(1000);
  FedBy fed(input_over(set), threaded(2, 3, GetParam()));
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  for (int i = 0; i < 200 && set->reads < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(set->reads, 3);
}

}  // namespace
}  // namespace plimsoll::data
