#include "data/autotune.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/units.h"
#include "data/maps/function_map.h"
#include "data/sets/array_set.h"
#include "data/views/order_views.h"

namespace plimsoll::data {
namespace {

constexpr int kCores = 4;

std::shared_ptr<const Indexed> shuffled(std::int64_t values) {
  constexpr std::int64_t kRows = 100;
  static const std::vector<float> numbers(kRows * 100000);
  auto set = ArraySet::create(
      kRows, {{fixed_field("features", DType::f32, {values}), numbers.data()}});
  EXPECT_TRUE(set.ok());
  return std::make_shared<ShuffledView>(*std::move(set), 1);
}

PipelineCost cost_of(double seconds, double busy = 1) {
  PipelineCost cost;
  cost.stages.push_back({"source", 0, seconds, busy});
  return cost;
}

FeederOptions batches_of(std::int64_t examples) {
  FeederOptions options;
  options.batch = examples;
  return options;
}

Division divide(const PipelineCost& cost, const Consumer& consumer,
                std::int64_t share = 0, std::int64_t values = 4) {
  const Input input = input_over(shuffled(values));
  auto division =
      divide_share(input, batches_of(10), cost, kCores, consumer, 1, share);
  EXPECT_TRUE(division.ok()) << division.error().message;
  return *division;
}

TEST(DivideShare, AnIdleConsumerGetsEveryCore) {
  // It reads small batches itself.
  const Division small = divide(cost_of(1e-3), {});
  EXPECT_EQ(small.readers, kCores - 1);
  EXPECT_GE(small.slots, small.readers + kSlotsToHelp);
  const Division large = divide(cost_of(1e-3), {}, 0, 100000);
  EXPECT_EQ(large.readers, kCores);
  EXPECT_LT(large.slots, large.readers + kSlotsToHelp);
}

TEST(DivideShare, AsManyReadersAsKeepUp) {
  // 10 ms a batch on one reader.
  EXPECT_EQ(divide(cost_of(1e-3), {100e-3, 1}).readers, 1);
  EXPECT_EQ(divide(cost_of(1e-3), {5e-3, 1}).readers, 2);
}

TEST(DivideShare, ACoreThatTheConsumerNeedsIsNotGivenAway) {
  // Four cores share 10 + 4 * 10 ms of work a batch: one reader is enough.
  EXPECT_EQ(divide(cost_of(1e-3), {10e-3, kCores}).readers, 1);
}

TEST(DivideShare, WhoWaitsIsManyAtATime) {
  EXPECT_GT(divide(cost_of(1e-3, 0.05), {}).readers, 20);
  // But no more than the consumer takes.
  EXPECT_LE(divide(cost_of(1e-3, 0.05), {5e-3, 1}).readers, 2);
}

TEST(DivideShare, QuickBatchesLieReadyInNumber) {
  const int quick = divide(cost_of(1e-7), {}).slots;
  EXPECT_GT(quick, 4 * kCores);
  EXPECT_LT(divide(cost_of(1e-3), {}).slots, quick);
  // Not where they would push each other out of the cache: 400 KB each.
  EXPECT_LT(divide(cost_of(1e-7), {}, 0, 10000).slots, quick);
}

TEST(DivideShare, StaysWithinTheShare) {
  const Input input = input_over(shuffled(4));
  for (const std::int64_t share : {320, 1000, 2000, 5000}) {
    const Division division = divide(cost_of(1e-7), {}, share);
    FeederOptions options = batches_of(10);
    options.readers = division.readers;
    options.slots = division.slots;
    EXPECT_LE(feeder_layout(input, options)->total_bytes, share);
    // And takes what it can have of it.
    ++options.slots;
    EXPECT_GT(feeder_layout(input, options)->total_bytes, share) << share;
  }
  const auto refused =
      divide_share(input, batches_of(10), cost_of(1e-7), kCores, {}, 1, 100);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::does_not_fit);
}

Recipe map_of(std::function<void(const float*, float*)> f) {
  Recipe stage;
  stage.name = "map";
  stage.map = [f] { return function_map({4}, f); };
  return stage;
}

Recipe sleeping() {
  return map_of([](const float*, float* out) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    std::fill_n(out, 4, 0.0f);
  });
}

Result<Source> open_numbers() { return source_over(shuffled(4)); }

// What needs the elements one after another makes a stream.
std::vector<Recipe> streamed(Recipe map) {
  Recipe filter;
  filter.name = "filter";
  filter.predicate = [](const Element&) -> Result<bool> { return true; };
  return {filter, std::move(map)};
}

TEST(TuneWorkers, StreamsThatWaitGetManyWithinTheShare) {
  PipelineOptions options;
  options.workers = kCores;
  const auto stages = streamed(sleeping());
  const auto with_share = [&](std::int64_t share) {
    return tune_workers(*open_numbers(), open_numbers, stages, options,
                        cost_of(1e-3, 0.05), share);
  };
  const auto tuned = with_share(0);
  ASSERT_TRUE(tuned.ok()) << tuned.error().message;
  EXPECT_GT(tuned->workers->threads(), 20);
  Placer all;
  tuned->stream->place(all);

  const auto fewer = with_share(all.bytes());
  ASSERT_TRUE(fewer.ok());
  EXPECT_LT(fewer->workers->threads(), tuned->workers->threads());
  Placer some;
  fewer->stream->place(some);
  EXPECT_LE(some.bytes(), all.bytes() / 2);

  const auto division = divide_share(*fewer, batches_of(10),
                                     cost_of(1e-3, 0.05), kCores, {}, 1, 0);
  ASSERT_TRUE(division.ok());
  EXPECT_EQ(division->readers, 1);
}

TEST(MeasurePipeline, TellsWaitingFromWorkBesideOtherPrograms) {
  std::atomic<bool> stop{false};
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&stop] {
      while (!stop) {
      }
    });
  }
  const auto working = map_of([](const float*, float* out) {
    float sum = 0;
    for (int i = 0; i < 10000; ++i) sum = sum * 0.5f + 1;
    std::fill_n(out, 4, sum);
  });
  const auto busy = measure_pipeline(open_numbers, {{working}}, {});
  const auto idle = measure_pipeline(open_numbers, {{sleeping()}}, {});
  stop = true;
  ASSERT_TRUE(busy.ok() && idle.ok());
  EXPECT_EQ(busy->busy(), 1);
  EXPECT_EQ(busy->useful_threads(kCores), kCores);
  EXPECT_LT(idle->busy(), 0.5);
  EXPECT_GT(idle->useful_threads(kCores), 2 * kCores);
}

}  // namespace
}  // namespace plimsoll::data
