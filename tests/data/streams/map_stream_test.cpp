#include "data/streams/map_stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "data/pipeline_threads.h"
#include "data/streams/interleave_stream.h"
#include "data/streams/repeat_stream.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/zip_stream.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

std::unique_ptr<Workers> workers_of(int threads) {
  return taken(Workers::create(threads));
}

std::vector<std::shared_ptr<Map>> maps_of(int count,
                                          std::int64_t fails_at = -1) {
  std::vector<std::shared_ptr<Map>> maps;
  for (int i = 0; i < count; ++i) {
    maps.push_back(std::make_shared<TripleMap>(i == 0 ? fails_at : -1));
  }
  return maps;
}

std::vector<Row> tripled(std::vector<Row> rows, std::int64_t epoch, int times) {
  for (Row& row : rows) {
    for (int i = 0; i < times; ++i) {
      for (std::int64_t& value : row.values[0]) {
        value = TripleMap::of(value, row.index, epoch);
      }
    }
  }
  return rows;
}

TEST(MapStream, SameElementsWhateverTheThreads) {
  for (const int threads : {0, 1, 2, 8}) {
    for (const int depth : {1, 2, 7}) {
      for (const std::int64_t chunk_bytes : {1, 1000, 1 << 20}) {
        for (const int maps : {0, 1, 2, 3}) {
          auto workers = workers_of(threads);
          MapStreamOptions options;
          options.depth = depth;
          options.chunk_bytes = chunk_bytes;
          Placed mapped(map_stream(numbered(300, 0, maps == 2), maps_of(maps),
                                   *workers, options));
          for (const std::int64_t epoch : {0, 3}) {
            ASSERT_EQ(
                mapped.epoch(epoch),
                tripled(numbered(300, 0, maps == 2)->rows(epoch), epoch, maps))
                << threads << " threads, " << depth << " chunks of "
                << chunk_bytes << " bytes, " << maps << " maps";
          }
        }
      }
    }
  }
}

TEST(MapStream, OtherFieldsPassUntouched) {
  auto workers = workers_of(2);
  std::vector<std::unique_ptr<Stream>> inputs;
  inputs.push_back(numbered(50));
  inputs.push_back(numbered(50, 500));
  Placed mapped(map_stream(taken(zip_stream(std::move(inputs))), maps_of(2),
                           *workers, {}));
  const auto rows = mapped.epoch(0);
  ASSERT_EQ(rows.size(), 50u);
  for (const Row& row : rows) EXPECT_EQ(row.values[1][0], 500 + row.index);
}

TEST(MapStream, WhicheverIsDoneGivesTheSameSet) {
  for (const int threads : {0, 2, 8}) {
    auto workers = workers_of(threads);
    MapStreamOptions options;
    options.depth = 5;
    options.ordered = false;
    options.chunk_bytes = 1000;
    Placed mapped(map_stream(numbered(300), maps_of(2), *workers, options));
    auto values = firsts(mapped.epoch(1));
    auto expected = firsts(tripled(numbered(300)->rows(1), 1, 2));
    std::sort(values.begin(), values.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(values, expected) << threads;
  }
}

TEST(MapStream, UnorderedPositionsLoseAndRepeatNothing) {
  auto workers = workers_of(4);
  MapStreamOptions options;
  options.depth = 6;
  options.ordered = false;
  options.chunk_bytes = 1000;
  auto expected = firsts(tripled(numbered(200)->rows(0), 0, 1));
  std::sort(expected.begin(), expected.end());
  const auto make = [&] {
    return map_stream(numbered(200), maps_of(1), *workers, options);
  };
  for (std::int64_t stop = 0; stop <= 200; stop += 3) {
    Placed first(make());
    ASSERT_TRUE(first->start(0));
    auto values = firsts(first.drain(stop));
    Placed second(make());
    ASSERT_TRUE(second.restore(0, first.saved()));
    const auto more = firsts(second.drain(stop % 40));
    values.insert(values.end(), more.begin(), more.end());
    Placed third(make());
    ASSERT_TRUE(third.restore(0, second.saved()));
    const auto rest = firsts(third.drain());
    values.insert(values.end(), rest.begin(), rest.end());
    std::sort(values.begin(), values.end());
    ASSERT_EQ(values, expected) << stop;
  }
}

TEST(MapStream, PositionsHoldForOtherThreadsDepthsAndChunks) {
  const auto expected = tripled(numbered(90)->rows(2), 2, 1);
  for (std::int64_t stop = 0; stop <= 90; ++stop) {
    auto one = workers_of(0);
    auto other = workers_of(static_cast<int>(stop % 3));
    MapStreamOptions options;
    options.chunk_bytes = 1 + stop * 200;
    Placed first(map_stream(numbered(90), maps_of(1), *one, options));
    ASSERT_TRUE(first->start(2));
    first.drain(stop);
    options.depth = 1 + static_cast<int>(stop % 5);
    options.chunk_bytes = 20'000 - stop * 200;
    Placed second(map_stream(numbered(90), maps_of(1), *other, options));
    ASSERT_TRUE(second.restore(2, first.saved()));
    ASSERT_EQ(second.drain(),
              std::vector<Row>(expected.begin() + stop, expected.end()));
  }
}

TEST(MapStream, AnErrorStandsInItsElementsPlace) {
  for (const int threads : {0, 2}) {
    for (const std::int64_t k : {0, 7, 99}) {
      auto workers = workers_of(threads);
      Placed mapped(map_stream(numbered(100), maps_of(2, k), *workers, {}));
      ASSERT_TRUE(mapped->start(0));
      EXPECT_EQ(std::ssize(mapped.drain(k)), k);
      Element element;
      const auto failed = mapped->next(element);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().message,
                "element " + std::to_string(k) + " (numbers from 0, offset " +
                    std::to_string(100 * k) + "): triple: value " +
                    std::to_string(k));
      EXPECT_EQ(std::ssize(mapped.drain()), 99 - k);
    }
  }
}

TEST(MapStream, FailingElementsAreLeftOutWhereAskedFor) {
  for (const int threads : {0, 1, 2, 8}) {
    auto workers = workers_of(threads);
    ErrorPolicy policy;
    policy.skip = true;
    MapStreamOptions options;
    options.policy = &policy;
    options.chunk_bytes = 2000;
    Placed mapped(map_stream(numbered(100), maps_of(1, 41), *workers, options));
    auto expected = tripled(numbered(100)->rows(0), 0, 1);
    expected.erase(expected.begin() + 41);
    EXPECT_EQ(mapped.epoch(0), expected);
    EXPECT_EQ(policy.skipped, 1);
  }
}

TEST(MapStream, InputErrorsKeepTheirPlaceAndText) {
  auto workers = workers_of(2);
  auto input = numbered(60);
  input->bad = {10, 11, 59};
  Placed mapped(map_stream(std::move(input), maps_of(1), *workers, {}));
  ASSERT_TRUE(mapped->start(0));
  EXPECT_EQ(mapped.drain(10).size(), 10u);
  Element element;
  EXPECT_EQ(mapped->next(element).error().message, "number 10 is bad");
  // Behind the error, and not the error again.
  Placed again(map_stream(numbered(60), maps_of(1), *workers, {}));
  ASSERT_TRUE(again.restore(0, mapped.saved()));
  EXPECT_EQ(again.drain(1)[0].index, 11);
  EXPECT_EQ(mapped->next(element).error().message, "number 11 is bad");
  EXPECT_EQ(mapped.drain(47).size(), 47u);
  EXPECT_EQ(mapped->next(element).error().message, "number 59 is bad");
  EXPECT_FALSE(*mapped->next(element));
}

// Fails at every element, or throws.
class HopelessMap final : public Map {
 public:
  explicit HopelessMap(bool throws) : throws_(throws) {}
  std::string name() const override { return "hopeless"; }
  Result<ElementSpec> bind(const ElementSpec& in) override { return in; }
  bool writes(int) const override { return false; }
  Status apply(const Element&, Element&, std::span<std::byte* const>,
               const MapContext&) const override {
    if (throws_) throw std::runtime_error("thrown");
    return Error{ErrorCode::bad_input, "no"};
  }

 private:
  bool throws_;
};

TEST(MapStream, ExceptionsBecomeErrors) {
  auto workers = workers_of(2);
  Placed mapped(map_stream(numbered(3), {std::make_shared<HopelessMap>(true)},
                           *workers, {}));
  ASSERT_TRUE(mapped->start(0));
  Element element;
  const auto failed = mapped->next(element);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "element 0 (numbers from 0, offset 0): hopeless: thrown");
}

TEST(MapStream, SkippingEverythingForeverEnds) {
  auto workers = workers_of(1);
  ErrorPolicy policy;
  policy.skip = true;
  MapStreamOptions options;
  options.policy = &policy;
  Placed mapped(map_stream(taken(repeat_stream(numbered(1000), kForever)),
                           {std::make_shared<HopelessMap>(false)}, *workers,
                           options));
  ASSERT_TRUE(mapped->start(0));
  Element element;
  const auto failed = mapped->next(element);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("in a row"), std::string::npos);
}

TEST(MapStream, ReadsAheadNoFurtherThanItsRing) {
  auto workers = workers_of(2);
  int pulls = 0;
  auto input = numbered(1000);
  input->pulls = &pulls;
  MapStreamOptions options;
  options.depth = 3;
  options.chunk_bytes = 1;  // one element a chunk
  Placed mapped(map_stream(std::move(input), maps_of(1), *workers, options));
  ASSERT_TRUE(mapped->start(0));
  mapped.drain(1);
  EXPECT_EQ(pulls, 3);
  mapped.drain(10);
  EXPECT_EQ(pulls, 13);
}

// Waits, so that chunks are under way when a stream goes.
class SlowMap final : public Map {
 public:
  std::string name() const override { return "slow"; }
  Result<ElementSpec> bind(const ElementSpec& in) override { return in; }
  bool writes(int) const override { return false; }
  Status apply(const Element&, Element&, std::span<std::byte* const>,
               const MapContext&) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    return {};
  }
};

TEST(MapStream, DroppedInMidEpochLeavesNothingBehind) {
  const int before = pipeline_threads();
  {
    auto workers = workers_of(4);
    for (int i = 0; i < 40; ++i) {
      MapStreamOptions options;
      options.depth = 8;
      options.chunk_bytes = 1;
      options.ordered = i % 2 == 0;
      Placed mapped(map_stream(numbered(100), {std::make_shared<SlowMap>()},
                               *workers, options));
      ASSERT_TRUE(mapped->start(0));
      mapped.drain(i % 4);
      if (i % 3 == 0) {
        ASSERT_TRUE(mapped->start(1));
        mapped.drain(2);
      }
    }
    EXPECT_EQ(pipeline_threads(), before + 4);
  }
  EXPECT_EQ(pipeline_threads(), before);
}

// Writes for a while, so that memory given away too early is seen.
class SlowTriple final : public Map {
 public:
  std::string name() const override { return "slow triple"; }
  Result<ElementSpec> bind(const ElementSpec& in) override {
    return triple_.bind(in);
  }
  bool writes(int field) const override { return triple_.writes(field); }
  std::int64_t scratch_bytes() const override {
    return triple_.scratch_bytes();
  }
  Status apply(const Element& in, Element& out,
               std::span<std::byte* const> buffers,
               const MapContext& context) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return triple_.apply(in, out, buffers, context);
  }

 private:
  TripleMap triple_;
};

TEST(MapStream, InterleavedOnesShareMemoryInTurn) {
  auto workers = workers_of(4);
  std::vector<std::unique_ptr<Stream>> inputs;
  for (int i = 0; i < 6; ++i) {
    MapStreamOptions options;
    options.chunk_bytes = 1;
    inputs.push_back(
        taken(map_stream(numbered(20, 100 * i),
                         {std::make_shared<SlowTriple>()}, *workers, options)));
  }
  InterleaveOptions turns;
  turns.cycle = 2;
  turns.shuffle = true;
  Placed all(interleave_stream(std::move(inputs), turns));
  std::vector<Row> expected;
  for (int i = 0; i < 6; ++i) {
    for (Row& row : tripled(numbered(20, 100 * i)->rows(9), 9, 1)) {
      expected.push_back(std::move(row));
    }
  }
  auto values = firsts(expected);
  std::sort(values.begin(), values.end());
  for (std::int64_t stop = 0; stop < 40; ++stop) {
    ASSERT_TRUE(all->start(stop));
    all.drain(stop);  // and abandoned
    if (stop % 8 != 0) continue;
    auto seen = firsts(all.epoch(9));
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen, values) << stop;
  }
}

TEST(MapStream, RefusesWhatAMapCannotTake) {
  auto workers = workers_of(0);
  MapStreamOptions options;
  options.depth = 0;
  EXPECT_FALSE(map_stream(numbered(1), maps_of(1), *workers, options));
}

}  // namespace
}  // namespace plimsoll::data
