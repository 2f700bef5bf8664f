#include "data/feeder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/half.h"
#include "data/feeder_fixture.h"
#include "data/numbered_set.h"
#include "data/sets/array_set.h"
#include "data/sets/random_set.h"
#include "data/streams/block_shuffle.h"
#include "data/streams/indexed_stream.h"
#include "data/streams/shuffle_window_stream.h"
#include "data/views/order_views.h"

namespace plimsoll::data {
namespace {

FeederOptions options_of(std::int64_t batch, int slots, int readers) {
  FeederOptions options;
  options.batch = batch;
  options.slots = slots;
  options.readers = readers;
  return options;
}

Input shuffled(std::shared_ptr<const Indexed> set) {
  return input_over(std::make_shared<ShuffledView>(std::move(set), 1));
}

// The number of readers.
class FeederModes : public testing::TestWithParam<int> {};

TEST_P(FeederModes, HandsOutEveryExampleInOrder) {
  for (const std::int64_t examples : {1, 7, 8, 9, 100}) {
    const auto set = std::make_shared<NumberedSet>(examples);
    for (const int slots : {1, 2, 3, 5}) {
      FedBy fed(input_over(set), options_of(8, slots, GetParam()));
      for (int epoch = 0; epoch < 3; ++epoch) {
        ASSERT_TRUE(fed.feeder->start({epoch, 0, {}}));
        std::vector<std::int32_t> expected(static_cast<std::size_t>(examples));
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(drain(*fed.feeder, 8, examples), expected);
        EXPECT_EQ(fed.feeder->next()->examples, 0);  // still over
      }
    }
  }
}

TEST_P(FeederModes, ShufflesAnewEveryEpochAndRepeatsWithTheSeed) {
  const auto set = std::make_shared<NumberedSet>(1000);
  FedBy fed(shuffled(set), options_of(32, 3, GetParam()));
  FedBy again(shuffled(set), options_of(7, 1, 2 - GetParam()));
  std::vector<std::vector<std::int32_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(fed.feeder->start({epoch, 0, {}}));
    ASSERT_TRUE(again.feeder->start({epoch, 0, {}}));
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
  const auto set = std::make_shared<NumberedSet>(100);
  FedBy fed(shuffled(set), options_of(8, 2, GetParam()));
  ASSERT_TRUE(fed.feeder->start({4, 0, {}}));
  const auto whole = drain(*fed.feeder, 8, 100);
  ASSERT_TRUE(fed.feeder->start({4, 24, {}}));
  const auto rest = drain(*fed.feeder, 8, 100, 24);
  EXPECT_EQ(rest, std::vector(whole.begin() + 24, whole.end()));
  ASSERT_TRUE(fed.feeder->start({4, 100, {}}));
  EXPECT_EQ(fed.feeder->next()->examples, 0);
  EXPECT_FALSE(fed.feeder->start({4, 101, {}}));
  EXPECT_FALSE(fed.feeder->start({4, -1, {}}));
}

TEST_P(FeederModes, AnErrorComesInThePlaceOfItsBatch) {
  const auto set = std::make_shared<NumberedSet>(100);
  set->failing = 20;
  FedBy fed(input_over(set), options_of(8, 2, GetParam()));
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
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
  set->throwing = 3;
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  const auto thrown = fed.feeder->next();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().message, "numbered: thrown by the set");
}

TEST_P(FeederModes, AHeldSlotIsNotOverwritten) {
  const auto set = std::make_shared<NumberedSet>(100);
  FedBy fed(input_over(set), options_of(8, 2, GetParam()));
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  const auto first = fed.feeder->next();
  const auto second = fed.feeder->next();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(fed.feeder->next());  // instead of waiting for ever
  EXPECT_EQ(static_cast<const std::int32_t*>(first->field(1))[0], 0);
  fed.feeder->release(second->slot);
  EXPECT_FALSE(fed.feeder->next());
  fed.feeder->release(first->slot);
  const auto third = fed.feeder->next();
  ASSERT_TRUE(third);
  EXPECT_EQ(static_cast<const std::int32_t*>(third->field(1))[0], 16);
}

TEST_P(FeederModes, StoppedItStartsNoMore) {
  const auto set = std::make_shared<NumberedSet>(100);
  FedBy fed(input_over(set), options_of(8, 2, GetParam()));
  EXPECT_FALSE(fed.feeder->next());  // no epoch yet
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  fed.feeder->stop();
  fed.feeder->stop();
  EXPECT_FALSE(fed.feeder->next());
  EXPECT_FALSE(fed.feeder->start({0, 0, {}}));
}

INSTANTIATE_TEST_SUITE_P(Readers, FeederModes, testing::Values(0, 1, 2, 8));

TEST_P(FeederModes, AStreamIsFedLikeItsSet) {
  for (const std::int64_t examples : {1, 7, 8, 9, 100}) {
    Input input;
    input.stream = *indexed_stream(std::make_shared<NumberedSet>(examples));
    FedBy fed(std::move(input), options_of(8, 3, GetParam()));
    for (int epoch = 0; epoch < 3; ++epoch) {
      ASSERT_TRUE(fed.feeder->start({epoch, 0, {}}));
      std::vector<std::int32_t> expected(static_cast<std::size_t>(examples));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(drain(*fed.feeder, 8, examples), expected);
      EXPECT_EQ(fed.feeder->next()->examples, 0);
    }
  }
}

TEST_P(FeederModes, AStreamGoesOnFromASavedPosition) {
  Input input;
  input.stream = *shuffle_window_stream(
      *indexed_stream(std::make_shared<NumberedSet>(100)), {20, 5});
  FedBy fed(std::move(input), options_of(8, 3, GetParam()));
  ASSERT_TRUE(fed.feeder->start({4, 0, {}}));
  const auto whole = drain(*fed.feeder, 8, 100);
  ASSERT_TRUE(fed.feeder->start({4, 0, {}}));
  for (int i = 0; i < 3; ++i) {
    const auto batch = fed.feeder->next();
    ASSERT_TRUE(batch);
    fed.feeder->release(batch->slot);
  }
  const Position position = fed.feeder->position();
  EXPECT_EQ(position.first, 24);
  const std::vector<std::int32_t> rest(whole.begin() + 24, whole.end());
  ASSERT_TRUE(fed.feeder->start(position));
  EXPECT_EQ(drain(*fed.feeder, 8, 100, 24), rest);
  // Without the stream's own numbers it counts again from the start.
  ASSERT_TRUE(fed.feeder->start({4, 24, {}}));
  EXPECT_EQ(drain(*fed.feeder, 8, 100, 24), rest);
}

// Every example of the set has its number as its label. They come one after
// another, or stacked by the stream: from several windows a batch, of which
// only the last is still in memory.
TEST_P(FeederModes, AStreamsExampleIsNamedByItsPlaceInTheSet) {
  const auto set = std::make_shared<NumberedSet>(100);
  const auto workers = *Workers::create(1);
  const auto example_named = [&](std::shared_ptr<Stream> stream, DType as) {
    Input input;
    input.stream = std::move(stream);
    FeederOptions options = options_of(32, 3, GetParam());
    options.as = {DType::f32, as};
    options.limits = {{1, 30}};
    FedBy fed(std::move(input), options);
    EXPECT_TRUE(fed.feeder->start({4, 0, {}}));
    auto batch = fed.feeder->next();
    while (batch && batch->examples > 0) {
      fed.feeder->release(batch->slot);
      batch = fed.feeder->next();
    }
    ASSERT_FALSE(batch);
    const std::string& text = batch.error().message;
    int example = 0;
    int value = 0;
    ASSERT_EQ(std::sscanf(text.c_str(), ": example %d has class %d", &example,
                          &value),
              2)
        << text;
    EXPECT_EQ(example, value) << text;
    EXPECT_GE(value, 30);
  };
  for (const DType as : {DType::i32, DType::i64}) {
    example_named(*shuffle_window_stream(*indexed_stream(set), {20, 5}), as);
    for (Workers* const readers :
         {static_cast<Workers*>(nullptr), workers.get()}) {
      example_named(*BlockShuffle::create(set, {3, 24, 96, readers}), as);
    }
  }
}

TEST_P(FeederModes, AShuffleByBlocksIsStackedFromAnyPosition) {
  std::vector<std::int32_t> whole;
  for (const int threads : {0, 2}) {
    Input input;
    input.workers = *Workers::create(threads);
    input.stream = *BlockShuffle::create(std::make_shared<NumberedSet>(1000),
                                         {3, 160, 1600, input.workers.get()});
    FedBy fed(std::move(input), options_of(32, 3, GetParam()));
    ASSERT_TRUE(fed.feeder->start({4, 0, {}}));
    const auto order = drain(*fed.feeder, 32, 1000);
    if (whole.empty()) whole = order;
    EXPECT_EQ(order, whole) << "threads change the order";
    ASSERT_TRUE(fed.feeder->start({4, 0, {}}));
    for (int i = 0; i < 5; ++i) {
      const auto batch = fed.feeder->next();
      ASSERT_TRUE(batch);
      fed.feeder->release(batch->slot);
    }
    const Position position = fed.feeder->position();
    ASSERT_TRUE(fed.feeder->start(position));
    EXPECT_EQ(drain(*fed.feeder, 32, 1000, 160),
              std::vector(whole.begin() + 160, whole.end()));
  }
}

TEST_P(FeederModes, AShuffleByBlocksIsCastOneByOne) {
  Input input;
  input.stream =
      *BlockShuffle::create(std::make_shared<NumberedSet>(100), {3, 160, 1600});
  auto options = options_of(100, 1, GetParam());
  options.as = {DType::f64, DType::i32};
  FedBy fed(std::move(input), options);
  ASSERT_TRUE(fed.feeder->start({}));
  const auto batch = fed.feeder->next();
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->examples, 100);
  const auto* x = static_cast<const double*>(batch->field(0));
  const auto* y = static_cast<const std::int32_t*>(batch->field(1));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(x[3 * i + 1], 10.0 * y[i] + 1);
}

// With labels cast beside it, and more rows than are translated at once.
TEST_P(FeederModes, ARandomSetMakesBf16ItselfWithTheBitsOfACast) {
  RandomSpec spec;
  spec.examples = 700;
  spec.features = {5, 7};
  spec.labels = RandomLabels::classes;
  spec.classes = 10;
  const std::shared_ptr<const Indexed> set = *RandomSet::create(spec);
  auto options = options_of(600, 2, GetParam());
  FedBy wide(shuffled(set), options);
  options.as = {DType::bf16, DType::f64};
  EXPECT_EQ(feeder_layout(shuffled(set), options)->made,
            (std::vector{DType::bf16, DType::i32}));
  FedBy narrow(shuffled(set), options);
  ASSERT_TRUE(wide.feeder->start({}));
  ASSERT_TRUE(narrow.feeder->start({}));
  for (const std::int64_t examples : {600, 100}) {
    const auto a = wide.feeder->next();
    const auto b = narrow.feeder->next();
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_EQ(a->examples, examples);
    ASSERT_EQ(b->examples, examples);
    const auto* x = static_cast<const float*>(a->field(0));
    const auto* y = static_cast<const std::uint16_t*>(b->field(0));
    for (std::int64_t i = 0; i < examples * 35; ++i) {
      ASSERT_EQ(float_to_bf16(x[i]), y[i]) << i;
    }
    for (std::int64_t i = 0; i < examples; ++i) {
      ASSERT_EQ(static_cast<const std::int32_t*>(a->field(1))[i],
                static_cast<const double*>(b->field(1))[i]);
    }
    wide.feeder->release(a->slot);
    narrow.feeder->release(b->slot);
  }
}

class FeederBorrows : public testing::Test {
 protected:
  FeederBorrows() {
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 3; ++j) {
        features_.push_back(static_cast<float>(i * 10 + j));
      }
      labels_.push_back(i);
    }
    set_ = *ArraySet::create(
        20, {{fixed_field("x", DType::f32, {3}), features_.data()},
             {fixed_field("y", DType::i32, {}), labels_.data()}});
  }
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::shared_ptr<ArraySet> set_;
};

TEST_F(FeederBorrows, WithoutCopyOrMemory) {
  const auto options = options_of(8, 2, 1);
  EXPECT_EQ(feeder_layout(input_over(set_), options)->total_bytes, 0);
  FedBy fed(input_over(set_), options);
  ASSERT_TRUE(fed.feeder->start({0, 8, {}}));
  const auto batch = fed.feeder->next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->field(0), features_.data() + 8 * 3);
  EXPECT_EQ(batch->field(1), labels_.data() + 8);
  EXPECT_EQ(batch->slot, -1);
  fed.feeder->release(batch->slot);
  EXPECT_EQ(fed.feeder->next()->examples, 4);
  ASSERT_TRUE(fed.feeder->start({1, 0, {}}));
  EXPECT_EQ(drain(*fed.feeder, 8, 20), labels_);
}

TEST_F(FeederBorrows, OneFieldIsBorrowedWhenTheOtherIsCast) {
  auto options = options_of(8, 2, 1);
  options.as = {DType::f32, DType::f64};
  const FeederLayout layout = *feeder_layout(input_over(set_), options);
  EXPECT_EQ(layout.slot_bytes, 64);  // eight labels
  FedBy fed(input_over(set_), options);
  ASSERT_TRUE(fed.feeder->start({0, 8, {}}));
  const auto batch = fed.feeder->next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->field(0), features_.data() + 8 * 3);
  EXPECT_EQ(static_cast<const double*>(batch->field(1))[1], 9.0);
}

TEST_F(FeederBorrows, ShuffledRowsAreGathered) {
  const auto options = options_of(8, 2, 0);
  FedBy fed(shuffled(set_), options);
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  auto labels = drain(*fed.feeder, 8, 20);
  EXPECT_NE(labels, labels_);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, labels_);
}

TEST_F(FeederBorrows, UnlessCopiesAreAskedFor) {
  FeederOptions options = options_of(8, 2, 1);
  options.borrow = false;
  options.alignment_bytes = 256;
  const FeederLayout layout = *feeder_layout(input_over(set_), options);
  EXPECT_EQ(layout.borrowed, (std::vector<bool>{false, false}));
  EXPECT_EQ(layout.slots, 2);
  EXPECT_EQ(layout.field_offsets, (std::vector<std::int64_t>{0, 256}));
  EXPECT_EQ(layout.slot_bytes, 512);
  FedBy fed(input_over(set_), options);
  ASSERT_TRUE(fed.feeder->start({0, 0, {}}));
  EXPECT_EQ(drain(*fed.feeder, 8, 20), labels_);
}

TEST(FeederLayout, CountsEveryByte) {
  const Input input = input_over(std::make_shared<NumberedSet>(100));
  const FeederLayout layout = *feeder_layout(input, options_of(10, 3, 2));
  EXPECT_EQ(layout.field_offsets,
            (std::vector<std::int64_t>{0, 128}));  // 10 * 3 * 4 = 120
  EXPECT_EQ(layout.slot_bytes, 128 + 64);
  EXPECT_EQ(layout.readers_offset, 3 * 192);
  EXPECT_EQ(layout.numbers_bytes, 128);
  EXPECT_EQ(layout.scratch_bytes, 128);
  EXPECT_EQ(layout.total_bytes, 3 * 192 + 3 * (128 + 128));
}

TEST(FeederLayout, MemoryThatIsTooSmallIsRefused) {
  const Input input = input_over(std::make_shared<NumberedSet>(100));
  const auto options = options_of(10, 3, 0);
  const FeederLayout layout = *feeder_layout(input, options);
  alignas(64) static std::byte memory[1024];
  const auto bytes = static_cast<std::size_t>(layout.total_bytes);
  EXPECT_TRUE(BatchFeeder::create(input, options, layout, {memory, bytes}));
  EXPECT_FALSE(
      BatchFeeder::create(input, options, layout, {memory, bytes - 1}));
  EXPECT_FALSE(
      BatchFeeder::create(input, options, layout, {memory + 8, bytes}));
  EXPECT_FALSE(
      BatchFeeder::create(input, options_of(20, 3, 0), layout, {memory, 1024}));
}

TEST(FeederLayout, ARemainderIsLeftOutWhenNobodyWantsIt) {
  auto options = options_of(8, 2, 1);
  options.remainder = false;
  FedBy fed(input_over(std::make_shared<NumberedSet>(20)), options);
  ASSERT_TRUE(fed.feeder->start({}));
  EXPECT_EQ(drain(*fed.feeder, 8, 16).size(), 16u);
}

}  // namespace
}  // namespace plimsoll::data
