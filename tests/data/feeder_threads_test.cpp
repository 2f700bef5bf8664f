// The reader thread and the consumer under changing speeds.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "data/feeder_fixture.h"
#include "data/numbered_source.h"

namespace plimsoll::data {
namespace {

FeederOptions threaded(std::int64_t batch, int slots) {
  FeederOptions options;
  options.batch = batch;
  options.labels_as = DType::i32;
  options.shuffle = true;
  options.slots = slots;
  options.prefetch = true;
  return options;
}

TEST(FeederThreads, ManySmallBatchesAtFullSpeed) {
  const NumberedSource source(5000);
  for (const int slots : {1, 2, 4, 8}) {
    FedBy fed(source, threaded(1, slots));
    ASSERT_TRUE(fed.feeder->start_epoch(slots));
    const auto labels = drain(*fed.feeder, 1, 5000);
    const auto sum = std::accumulate(labels.begin(), labels.end(), 0ll);
    EXPECT_EQ(sum, 5000ll * 4999 / 2);
  }
}

TEST(FeederThreads, SlowAndBurstyConsumers) {
  const NumberedSource source(400);
  FedBy fed(source, threaded(1, 4));
  ASSERT_TRUE(fed.feeder->start_epoch(0));
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
      const float x = *static_cast<const float*>((*batch).features);
      const auto y = *static_cast<const std::int32_t*>((*batch).labels);
      ASSERT_EQ(x, static_cast<float>(y * 10));
      fed.feeder->release(batch->slot);
    }
  }
}

TEST(FeederThreads, EpochsAbandonedAtAnyMoment) {
  const NumberedSource source(64);
  FedBy fed(source, threaded(4, 3));
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(fed.feeder->start_epoch(i));
    for (int taken = 0; taken < i % 5; ++taken) {
      const auto batch = fed.feeder->next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->first, 4 * taken);
      if (taken % 2 == 0 || taken == 3) fed.feeder->release(batch->slot);
      if (taken == 3) break;
    }
  }
  ASSERT_TRUE(fed.feeder->start_epoch(1000));
  EXPECT_EQ(drain(*fed.feeder, 4, 64).size(), 64u);
}

TEST(FeederThreads, StopsWhereverTheReaderIs) {
  const NumberedSource source(1000);
  for (int i = 0; i < 100; ++i) {
    FedBy fed(source, threaded(2, 2));
    if (i % 4 > 0) {
      ASSERT_TRUE(fed.feeder->start_epoch(i));
    }
    if (i % 4 > 1) {
      ASSERT_TRUE(fed.feeder->next());
    }
    if (i % 4 > 2) {  // until the reader sleeps
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

TEST(FeederThreads, ReadsAheadOnlyAsFarAsTheRing) {
  const NumberedSource source(1000);
  FedBy fed(source, threaded(2, 3));
  ASSERT_TRUE(fed.feeder->start_epoch(0));
  for (int i = 0; i < 200 && source.reads < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(source.reads, 3);
}

}  // namespace
}  // namespace plimsoll::data
