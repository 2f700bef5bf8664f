// take, skip, shard, repeat, filter, concatenate, zip and skip_errors.
#include <stdexcept>

#include "data/streams/concatenate_stream.h"
#include "data/streams/error_skipping.h"
#include "data/streams/filter_stream.h"
#include "data/streams/repeat_stream.h"
#include "data/streams/shard_stream.h"
#include "data/streams/skip_stream.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/take_stream.h"
#include "data/streams/zip_stream.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t value_of(const Element& element) {
  std::int64_t value = 0;
  std::memcpy(&value, element.values[0].data, 8);
  return value;
}

std::vector<std::unique_ptr<Stream>> pair_of(std::unique_ptr<Stream> a,
                                             std::unique_ptr<Stream> b) {
  std::vector<std::unique_ptr<Stream>> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  return both;
}

TEST(Streams, TakeAndSkip) {
  Placed take(take_stream(numbered(10), 3));
  EXPECT_EQ(take->count(), 3);
  EXPECT_EQ(firsts(take.epoch(0)), (Numbers{0, 1, 2}));
  EXPECT_EQ(firsts(take.epoch(1)), (Numbers{1000, 1001, 1002}));
  EXPECT_EQ(firsts(Placed(take_stream(numbered(2), 3)).epoch(0)),
            (Numbers{0, 1}));
  EXPECT_TRUE(Placed(take_stream(numbered(2), 0)).epoch(0).empty());

  Placed skip(skip_stream(numbered(5), 3));
  EXPECT_EQ(skip->count(), 2);
  EXPECT_EQ(firsts(skip.epoch(0)), (Numbers{3, 4}));
  EXPECT_EQ(firsts(skip.epoch(2)), (Numbers{2003, 2004}));
  EXPECT_TRUE(Placed(skip_stream(numbered(2), 3)).epoch(0).empty());
  EXPECT_FALSE(take_stream(numbered(1), -1));
  EXPECT_FALSE(skip_stream(numbered(1), -1));
}

TEST(Streams, TakePullsNoMoreThanItGives) {
  int pulls = 0;
  auto input = numbered(10);
  input->pulls = &pulls;
  Placed take(take_stream(std::move(input), 3));
  take.epoch(0);
  EXPECT_EQ(pulls, 3);
}

TEST(Streams, ShardsAreDisjointAndComplete) {
  Numbers all;
  for (std::int64_t shard = 0; shard < 3; ++shard) {
    Placed part(shard_stream(numbered(10), shard, 3));
    const auto values = firsts(part.epoch(0));
    EXPECT_EQ(std::ssize(values), part->count());
    for (const std::int64_t value : values) EXPECT_EQ(value % 3, shard);
    all.insert(all.end(), values.begin(), values.end());
  }
  EXPECT_EQ(all.size(), 10u);
  EXPECT_FALSE(shard_stream(numbered(1), 2, 2));
  EXPECT_FALSE(shard_stream(numbered(1), 0, 0));
}

TEST(Streams, RepetitionsAreEpochsBelow) {
  Placed twice(repeat_stream(numbered(2), 2));
  EXPECT_EQ(twice->count(), 4);
  EXPECT_EQ(firsts(twice.epoch(0)), (Numbers{0, 1, 1000, 1001}));
  EXPECT_EQ(firsts(twice.epoch(1)), (Numbers{2000, 2001, 3000, 3001}));
  EXPECT_TRUE(Placed(repeat_stream(numbered(2), 0)).epoch(3).empty());
  EXPECT_FALSE(repeat_stream(numbered(2), -2));
}

TEST(Streams, RepeatForeverEndsOnlyWhereNothingComes) {
  Placed forever(repeat_stream(numbered(2), kForever));
  ASSERT_TRUE(forever->start(5));
  EXPECT_EQ(firsts(forever.drain(5)), (Numbers{5000, 5001, 6000, 6001, 7000}));
  EXPECT_TRUE(Placed(repeat_stream(numbered(0), kForever)).epoch(0).empty());
}

TEST(Streams, FilterNamesTheElementItFailsAt) {
  Placed odd(filter_stream(numbered(6), [](const Element& element) {
    return Result<bool>(value_of(element) % 2 == 1);
  }));
  EXPECT_EQ(firsts(odd.epoch(0)), (Numbers{1, 3, 5}));
  Placed thrower(
      filter_stream(numbered(4), [](const Element& element) -> Result<bool> {
        if (element.index == 2) throw std::runtime_error("no twos");
        return true;
      }));
  ASSERT_TRUE(thrower->start(0));
  EXPECT_EQ(thrower.drain(2).size(), 2u);
  Element element;
  const auto failed = thrower->next(element);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "element 2 (numbers from 0, offset 200): filter: no twos");
  EXPECT_EQ(firsts(thrower.drain()), (Numbers{3}));
}

TEST(Streams, ConcatenateKnowsWhereElementsCameFrom) {
  Placed both(concatenate_stream(pair_of(numbered(2), numbered(3, 50))));
  EXPECT_EQ(both->count(), 5);
  ASSERT_TRUE(both->start(0));
  Element element;
  std::vector<std::string> where;
  Numbers values;
  while (*both->next(element)) {
    values.push_back(value_of(element));
    where.push_back(both->whereabouts(element));
  }
  EXPECT_EQ(values, (Numbers{0, 1, 50, 51, 52}));
  EXPECT_EQ(where[1], "numbers from 0, offset 100");
  EXPECT_EQ(where[4], "numbers from 50, offset 200");
  EXPECT_FALSE(concatenate_stream(pair_of(numbered(1), numbered(1, 0, true))));
  EXPECT_FALSE(concatenate_stream({}));
}

TEST(Streams, ZipEndsWithTheShorter) {
  Placed both(zip_stream(pair_of(numbered(5), numbered(3, 50))));
  EXPECT_EQ(both->count(), 3);
  const auto rows = both.epoch(0);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].values, (std::vector<Numbers>{{2}, {52}}));
  EXPECT_FALSE(*both->next(*std::make_unique<Element>()));
  EXPECT_EQ(both.epoch(1).size(), 3u);
  EXPECT_FALSE(zip_stream({}));
}

TEST(Streams, ZipStaysTogetherBehindAnError) {
  auto left = numbered(5);
  left->bad = {1};
  Placed both(zip_stream(pair_of(std::move(left), numbered(5, 50))));
  ASSERT_TRUE(both->start(0));
  EXPECT_EQ(both.drain(1).size(), 1u);
  Element element;
  EXPECT_FALSE(both->next(element));
  const auto rows = both.drain();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].values, (std::vector<Numbers>{{2}, {52}}));
}

TEST(Streams, BadElementsAreLeftOutAndCounted) {
  ErrorPolicy policy;
  policy.skip = true;
  auto input = numbered(10);
  input->bad = {0, 3, 4, 9};
  Placed rest(skip_errors_stream(std::move(input), policy));
  EXPECT_EQ(firsts(rest.epoch(0)), (Numbers{1, 2, 5, 6, 7, 8}));
  EXPECT_EQ(policy.skipped, 4);
  policy.skip = false;
  ASSERT_TRUE(rest->start(0));
  Element element;
  EXPECT_FALSE(rest->next(element));
}

TEST(Streams, SkippingEndsWhereAStreamCannotGoOn) {
  ErrorPolicy policy;
  policy.skip = true;
  auto input = numbered(10);
  input->stuck_at = 4;
  Placed rest(skip_errors_stream(std::move(input), policy));
  ASSERT_TRUE(rest->start(0));
  EXPECT_EQ(rest.drain(4).size(), 4u);
  Element element;
  const auto stuck = rest->next(element);
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().message, "number 4 cannot go on");

  auto all_bad = numbered(100'000);
  for (std::int64_t i = 10; i < 100'000; ++i) all_bad->bad.insert(i);
  Placed endless(skip_errors_stream(
      taken(repeat_stream(std::move(all_bad), kForever)), policy));
  ASSERT_TRUE(endless->start(0));
  EXPECT_EQ(endless.drain(10).size(), 10u);
  const auto many = endless->next(element);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("10000 elements in a row"),
            std::string::npos)
      << many.error().message;
}

}  // namespace
}  // namespace plimsoll::data
