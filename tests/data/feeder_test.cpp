#include "data/feeder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/array_source.h"
#include "data/feeder_fixture.h"
#include "data/numbered_source.h"

namespace plimsoll::data {
namespace {

FeederOptions options_of(std::int64_t batch, bool shuffle, int slots,
                         bool prefetch) {
  FeederOptions options;
  options.batch = batch;
  options.labels_as = DType::i32;
  options.shuffle = shuffle;
  options.slots = slots;
  options.prefetch = prefetch;
  return options;
}

class FeederModes : public testing::TestWithParam<bool> {};

TEST_P(FeederModes, HandsOutEveryExampleInOrder) {
  for (const std::int64_t examples : {1, 7, 8, 9, 100}) {
    const NumberedSource source(examples);
    for (const int slots : {1, 2, 3, 5}) {
      FedBy fed(source, options_of(8, false, slots, GetParam()));
      for (int epoch = 0; epoch < 3; ++epoch) {
        ASSERT_TRUE(fed.feeder->start_epoch(epoch));
        std::vector<std::int32_t> expected(static_cast<std::size_t>(examples));
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(drain(*fed.feeder, 8, examples), expected);
        EXPECT_EQ(fed.feeder->next()->examples, 0);  // still over
      }
    }
  }
}

TEST_P(FeederModes, ShufflesAnewEveryEpochAndRepeatsWithTheSeed) {
  const NumberedSource source(1000);
  FedBy fed(source, options_of(32, true, 3, GetParam()));
  FedBy again(source, options_of(7, true, 1, !GetParam()));
  std::vector<std::vector<std::int32_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(fed.feeder->start_epoch(epoch));
    ASSERT_TRUE(again.feeder->start_epoch(epoch));
    orders.push_back(drain(*fed.feeder, 32, 1000));
    // Neither the batch nor the thread changes the order.
    EXPECT_EQ(drain(*again.feeder, 7, 1000), orders.back());
    auto sorted = orders.back();
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted.front(), 0);
    EXPECT_EQ(sorted.back(), 999);
    EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

TEST_P(FeederModes, ResumesInMidEpoch) {
  const NumberedSource source(100);
  FedBy fed(source, options_of(8, true, 2, GetParam()));
  ASSERT_TRUE(fed.feeder->start_epoch(4));
  const auto whole = drain(*fed.feeder, 8, 100);
  ASSERT_TRUE(fed.feeder->start_epoch(4, 24));
  const auto rest = drain(*fed.feeder, 8, 100, 24);
  EXPECT_EQ(rest, std::vector(whole.begin() + 24, whole.end()));
  ASSERT_TRUE(fed.feeder->start_epoch(4, 100));
  EXPECT_EQ(fed.feeder->next()->examples, 0);
  EXPECT_FALSE(fed.feeder->start_epoch(4, 101));
  EXPECT_FALSE(fed.feeder->start_epoch(4, -1));
}

TEST_P(FeederModes, AnErrorComesInThePlaceOfItsBatch) {
  NumberedSource source(100);
  source.failing = 20;
  FedBy fed(source, options_of(8, false, 2, GetParam()));
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_TRUE(fed.feeder->start_epoch(0));
    for (int i = 0; i < 2; ++i) {
      const auto batch = fed.feeder->next();
      ASSERT_TRUE(batch);
      fed.feeder->release(batch->slot);
    }
    const auto failed = fed.feeder->next();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error(), (Error{ErrorCode::io, "example 20"}));
    EXPECT_EQ(fed.feeder->next()->examples, 0);
  }
  source.throwing = 3;
  ASSERT_TRUE(fed.feeder->start_epoch(0));
  const auto thrown = fed.feeder->next();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().message, "numbered: thrown by the source");
}

TEST_P(FeederModes, AHeldSlotIsNotOverwritten) {
  const NumberedSource source(100);
  FedBy fed(source, options_of(8, false, 2, GetParam()));
  ASSERT_TRUE(fed.feeder->start_epoch(0));
  const auto first = fed.feeder->next();
  const auto second = fed.feeder->next();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(fed.feeder->next());  // instead of waiting for ever
  EXPECT_EQ(static_cast<const std::int32_t*>(first->labels)[0], 0);
  fed.feeder->release(second->slot);
  EXPECT_FALSE(fed.feeder->next());
  fed.feeder->release(first->slot);
  const auto third = fed.feeder->next();
  ASSERT_TRUE(third);
  EXPECT_EQ(static_cast<const std::int32_t*>(third->labels)[0], 16);
}

TEST_P(FeederModes, StoppedItStartsNoMore) {
  const NumberedSource source(100);
  FedBy fed(source, options_of(8, false, 2, GetParam()));
  EXPECT_FALSE(fed.feeder->next());  // no epoch yet
  ASSERT_TRUE(fed.feeder->start_epoch(0));
  fed.feeder->stop();
  fed.feeder->stop();
  EXPECT_FALSE(fed.feeder->next());
  EXPECT_FALSE(fed.feeder->start_epoch(0));
}

INSTANTIATE_TEST_SUITE_P(Modes, FeederModes, testing::Bool(),
                         [](const auto& param) {
                           return param.param ? "thread" : "inline";
                         });

class FeederBorrows : public testing::Test {
 protected:
  FeederBorrows() {
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 3; ++j) {
        features_.push_back(static_cast<float>(i * 10 + j));
      }
      labels_.push_back(i);
    }
    source_ = *ArraySource::create(20, {features_.data(), {DType::f32, {3}}},
                                   {labels_.data(), {DType::i32, {}}});
  }
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::unique_ptr<ArraySource> source_;
};

TEST_F(FeederBorrows, WithoutCopyOrMemory) {
  const auto options = options_of(8, false, 2, true);
  EXPECT_EQ(feeder_layout(*source_, options).total_bytes, 0);
  FedBy fed(*source_, options);
  ASSERT_TRUE(fed.feeder->start_epoch(0, 8));
  const auto batch = fed.feeder->next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->features, features_.data() + 8 * 3);
  EXPECT_EQ(batch->labels, labels_.data() + 8);
  EXPECT_EQ(batch->slot, -1);
  fed.feeder->release(batch->slot);
  EXPECT_EQ(fed.feeder->next()->examples, 4);
  ASSERT_TRUE(fed.feeder->start_epoch(1));
  EXPECT_EQ(drain(*fed.feeder, 8, 20), labels_);
}

TEST_F(FeederBorrows, OneFieldIsBorrowedWhenTheOtherIsCast) {
  auto options = options_of(8, false, 2, true);
  options.labels_as = DType::f64;
  const FeederLayout layout = feeder_layout(*source_, options);
  EXPECT_EQ(layout.slot_bytes, 64);  // eight labels
  FedBy fed(*source_, options);
  ASSERT_TRUE(fed.feeder->start_epoch(0, 8));
  const auto batch = fed.feeder->next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->features, features_.data() + 8 * 3);
  EXPECT_EQ(static_cast<const double*>(batch->labels)[1], 9.0);
}

TEST_F(FeederBorrows, ShuffledRowsAreGathered) {
  const auto options = options_of(8, true, 2, false);
  FedBy fed(*source_, options);
  ASSERT_TRUE(fed.feeder->start_epoch(0));
  auto labels = drain(*fed.feeder, 8, 20);
  EXPECT_NE(labels, labels_);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, labels_);
}

TEST(FeederLayout, CountsEveryByte) {
  const NumberedSource source(100);
  const FeederLayout layout =
      feeder_layout(source, options_of(10, false, 3, true));
  EXPECT_EQ(layout.labels_offset, 128);  // 10 * 3 * 4 = 120
  EXPECT_EQ(layout.slot_bytes, 128 + 64);
  EXPECT_EQ(layout.indices_offset, 3 * 192);
  EXPECT_EQ(layout.scratch_offset, 3 * 192 + 128);
  EXPECT_EQ(layout.scratch_bytes, 100);
  EXPECT_EQ(layout.total_bytes, 3 * 192 + 128 + 128);
}

TEST(FeederLayout, MemoryThatIsTooSmallIsRefused) {
  const NumberedSource source(100);
  const auto options = options_of(10, false, 3, false);
  const FeederLayout layout = feeder_layout(source, options);
  alignas(64) static std::byte memory[1024];
  const auto bytes = static_cast<std::size_t>(layout.total_bytes);
  EXPECT_TRUE(BatchFeeder::create(source, options, layout, {memory, bytes}));
  EXPECT_FALSE(
      BatchFeeder::create(source, options, layout, {memory, bytes - 1}));
  EXPECT_FALSE(
      BatchFeeder::create(source, options, layout, {memory + 8, bytes}));
  EXPECT_FALSE(BatchFeeder::create(source, options_of(20, false, 3, false),
                                   layout, {memory, 1024}));
}

}  // namespace
}  // namespace plimsoll::data
