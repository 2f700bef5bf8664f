// Sets over sets: the right elements, in the right order, read one by one and
// gathered.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/maps/numeric.h"
#include "data/numbered_set.h"
#include "data/sets/range_set.h"
#include "data/views/joined_views.h"
#include "data/views/mapped_view.h"
#include "data/views/order_views.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

std::shared_ptr<const Indexed> numbered(std::int64_t size) {
  return std::make_shared<NumberedSet>(size);
}

// The labels of all elements in the set's order, by gather() in one call and
// by read() one by one: they must agree, with features that belong to them.
Numbers labels_of(const Indexed& set, std::int64_t epoch = 0) {
  const auto size = static_cast<std::size_t>(set.size());
  std::vector<std::byte> scratch(static_cast<std::size_t>(set.scratch_bytes()) +
                                 64);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(scratch.data()) % 64;
  const ReadContext context{
      std::span(scratch).subspan((64 - misaligned) % 64,
                                 static_cast<std::size_t>(set.scratch_bytes())),
      epoch};
  Numbers all(size);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> x(3 * size);
  std::vector<std::int32_t> y(size);
  std::byte* const rows[] = {reinterpret_cast<std::byte*>(x.data()),
                             reinterpret_cast<std::byte*>(y.data())};
  const auto status = set.gather(all, rows, context);
  EXPECT_TRUE(status) << status.error().message;
  Numbers labels(y.begin(), y.end());
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_EQ(x[3 * i + 1], static_cast<float>(y[i] * 10 + 1));
    float one[3] = {};
    std::int32_t label = 0;
    alignas(64) std::byte buffers[2][64];
    std::byte* const into[] = {buffers[0], buffers[1]};
    Element element;
    EXPECT_TRUE(set.read(all[i], element, into, context));
    std::memcpy(one, element.values[0].data, sizeof(one));
    std::memcpy(&label, element.values[1].data, sizeof(label));
    EXPECT_EQ(label, labels[i]);
    EXPECT_EQ(one[2], static_cast<float>(label * 10 + 2));
  }
  Numbers origins = all;
  set.origins(origins, epoch);
  EXPECT_EQ(origins, labels);
  return labels;
}

Numbers sequence(std::int64_t first, std::int64_t step, std::size_t count) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = first + step * static_cast<std::int64_t>(i);
  }
  return numbers;
}

TEST(Views, TakeSkipAndShard) {
  EXPECT_EQ(labels_of(**SlicedView::take(numbered(10), 4)), sequence(0, 1, 4));
  EXPECT_EQ(labels_of(**SlicedView::take(numbered(10), 40)),
            sequence(0, 1, 10));
  EXPECT_EQ(labels_of(**SlicedView::skip(numbered(10), 7)), sequence(7, 1, 3));
  EXPECT_EQ(labels_of(**SlicedView::shard(numbered(10), 1, 3)),
            sequence(1, 3, 3));
  EXPECT_EQ(labels_of(**SlicedView::shard(numbered(10), 0, 3)),
            sequence(0, 3, 4));
  EXPECT_FALSE(SlicedView::take(numbered(10), 0));
  EXPECT_FALSE(SlicedView::skip(numbered(10), 10));
  EXPECT_FALSE(SlicedView::shard(numbered(10), 3, 3));
}

TEST(Views, ShuffledIsAPermutationNewInEachEpoch) {
  // More than are translated at a time.
  const ShuffledView view(numbered(1000), 7);
  const Numbers first = labels_of(view, 0);
  const Numbers second = labels_of(view, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(labels_of(view, 0), first);
  Numbers sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, sequence(0, 1, 1000));
}

TEST(Views, RepetitionsAreShuffledAnew) {
  const auto shuffled = std::make_shared<ShuffledView>(numbered(300), 7);
  const auto view = RepeatedView::create(shuffled, 3);
  ASSERT_TRUE(view);
  const Numbers all = labels_of(**view, 2);
  ASSERT_EQ(all.size(), 900u);
  for (std::int64_t repetition = 0; repetition < 3; ++repetition) {
    const auto start = all.begin() + 300 * repetition;
    EXPECT_EQ(Numbers(start, start + 300),
              labels_of(*shuffled, 2 * 3 + repetition));
  }
  EXPECT_FALSE(RepeatedView::create(shuffled, 0));
}

TEST(Views, OneAfterAnother) {
  const auto view = ConcatenatedView::create(numbered(400), numbered(300));
  ASSERT_TRUE(view);
  EXPECT_EQ((*view)->size(), 700);
  EXPECT_EQ((*view)->whereabouts(405), "place 5");
  std::vector<std::byte> scratch(128);
  std::vector<float> x(2100);
  std::vector<std::int32_t> y(700);
  std::byte* const rows[] = {reinterpret_cast<std::byte*>(x.data()),
                             reinterpret_cast<std::byte*>(y.data())};
  ASSERT_TRUE((*view)->gather(sequence(0, 1, 700), rows, {scratch, 0}));
  for (int i = 0; i < 700; ++i) {
    ASSERT_EQ(y[static_cast<std::size_t>(i)], i < 400 ? i : i - 400);
  }
  std::shared_ptr<const Indexed> range = *RangeSet::create(0, 5, 1);
  const auto wrong = ConcatenatedView::create(numbered(4), range);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("cannot follow"), std::string::npos);
}

TEST(Views, SideBySide) {
  auto range = RangeSet::create(100, 90, -2);
  ASSERT_TRUE(range);
  const auto view = ZippedView::create(
      numbered(9), std::shared_ptr<const Indexed>(*std::move(range)));
  ASSERT_TRUE(view);
  EXPECT_EQ((*view)->size(), 5);
  ASSERT_EQ((*view)->spec().size(), 3u);
  std::vector<std::byte> scratch(128);
  std::int64_t values[5] = {};
  float x[15];
  std::int32_t y[5];
  std::byte* const rows[] = {reinterpret_cast<std::byte*>(x),
                             reinterpret_cast<std::byte*>(y),
                             reinterpret_cast<std::byte*>(values)};
  const Numbers all = sequence(0, 1, 5);
  ASSERT_TRUE((*view)->gather(all, rows, {scratch, 0}));
  EXPECT_EQ(values[4], 92);
  EXPECT_EQ(y[4], 4);
}

TEST(Views, MapsSeeEveryElementAndPassTheOthersOn) {
  // Twice, so that one map's rows are the next one's input.
  std::shared_ptr<const Indexed> set =
      *MappedView::create(std::make_shared<ShuffledView>(numbered(700), 3),
                          scale({{"features", 0}, 2.0f, 0.0f}), 1);
  set = *MappedView::create(set, scale({{"features", 0}, 0.5f, 0.0f}), 1);
  Numbers labels = labels_of(*set, 5);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, sequence(0, 1, 700));
}

TEST(Views, AMapsErrorNamesTheElementAndItsPlace) {
  const auto set =
      MappedView::create(std::make_shared<ShuffledView>(numbered(50), 3),
                         one_hot({{"labels", 0}, 40}), 1);
  ASSERT_TRUE(set);
  std::vector<std::byte> scratch(
      static_cast<std::size_t>((*set)->scratch_bytes()) + 64);
  std::vector<float> x(150);
  std::vector<float> y(2000);
  std::byte* const rows[] = {reinterpret_cast<std::byte*>(x.data()),
                             reinterpret_cast<std::byte*>(y.data())};
  const auto misaligned = reinterpret_cast<std::uintptr_t>(scratch.data()) % 64;
  const auto status =
      (*set)->gather(sequence(0, 1, 50), rows,
                     {std::span(scratch).subspan(
                          (64 - misaligned) % 64,
                          static_cast<std::size_t>((*set)->scratch_bytes())),
                      0});
  ASSERT_FALSE(status);
  // Whichever comes first in the shuffled order: its own number, not its
  // position.
  const std::string& text = status.error().message;
  int number = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "element %d (place", &number), 1) << text;
  EXPECT_GE(number, 40);
  EXPECT_NE(text.find("(place " + std::to_string(number) + "): one_hot:"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace plimsoll::data
