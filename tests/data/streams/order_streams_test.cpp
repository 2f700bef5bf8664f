// shuffle_window and interleave.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "data/streams/interleave_stream.h"
#include "data/streams/shuffle_window_stream.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/take_stream.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers shuffled(std::int64_t count, std::int64_t window, std::uint64_t seed,
                 std::int64_t epoch) {
  Placed stream(shuffle_window_stream(numbered(count), {window, seed}));
  Numbers values = firsts(stream.epoch(epoch));
  for (std::int64_t& value : values) value -= 1000 * epoch;
  return values;
}

TEST(ShuffleWindow, IsAPermutationWithinTheWindow) {
  for (const std::int64_t window : {1, 2, 3, 10, 64, 1000}) {
    for (const std::int64_t count : {0, 1, 2, 63, 64, 65, 500}) {
      Numbers values = shuffled(count, window, 5, 0);
      for (std::int64_t place = 0; place < std::ssize(values); ++place) {
        const std::int64_t moved =
            values[static_cast<std::size_t>(place)] - place;
        ASSERT_LT(std::abs(moved), window);
      }
      std::sort(values.begin(), values.end());
      Numbers all(static_cast<std::size_t>(count));
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(values, all) << window << " of " << count;
    }
  }
}

TEST(ShuffleWindow, AWindowOfOneChangesNothing) {
  Numbers all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(shuffled(100, 1, 7, 2), all);
}

TEST(ShuffleWindow, AnotherOrderForEverySeedAndEpoch) {
  const Numbers one = shuffled(500, 100, 1, 0);
  EXPECT_EQ(one, shuffled(500, 100, 1, 0));
  EXPECT_NE(one, shuffled(500, 100, 2, 0));
  EXPECT_NE(one, shuffled(500, 100, 1, 1));
}

TEST(ShuffleWindow, DisplacementsSpreadOverTheWindow) {
  constexpr std::int64_t kWindow = 1000;
  constexpr std::int64_t kCount = 100'000;
  const Numbers values = shuffled(kCount, kWindow, 3, 0);
  double sum = 0;
  double squares = 0;
  int beyond_half = 0;
  double together = 0;  // of neighbours
  double before = 0;
  for (std::int64_t place = kWindow; place < kCount - kWindow; ++place) {
    const auto moved =
        static_cast<double>(values[static_cast<std::size_t>(place)] - place);
    sum += moved;
    squares += moved * moved;
    together += moved * before;
    before = moved;
    if (std::abs(moved) > kWindow / 2.0) ++beyond_half;
  }
  const double n = kCount - 2 * kWindow;
  const double deviation = std::sqrt(squares / n);
  EXPECT_NEAR(sum / n, 0, 5);
  // An element comes about where its key says: a uniform share of the window.
  EXPECT_NEAR(deviation, kWindow / std::sqrt(12.0), 10);
  EXPECT_LT(beyond_half / n, 0.06);
  EXPECT_LT(std::abs(together / n) / (deviation * deviation), 0.02);
}

TEST(ShuffleWindow, HoldsNoMoreThanTheWindow) {
  int pulls = 0;
  auto input = numbered(1000);
  input->pulls = &pulls;
  Placed stream(shuffle_window_stream(std::move(input), {50, 1}));
  ASSERT_TRUE(stream->start(0));
  for (int given = 1; given < 900; ++given) {
    stream.drain(1);
    ASSERT_LE(pulls - given, 50);
  }
  // A slot and its part of the order for each, and one that is in use.
  EXPECT_LT(stream.bytes(), 52 * (192 + 32) + 1024);
}

TEST(ShuffleWindow, GoesOnFromEveryPosition) {
  for (const std::int64_t window : {1, 7, 40, 300}) {
    const auto make = [&] {
      return shuffle_window_stream(numbered(150), {window, 9});
    };
    Placed whole(make());
    const auto expected = whole.epoch(4);
    for (std::int64_t stop = 0; stop <= 150; ++stop) {
      Placed first(make());
      ASSERT_TRUE(first->start(4));
      first.drain(stop);
      Placed second(make());
      ASSERT_TRUE(second.restore(4, first.saved()));
      // And again, at once or a little later.
      const auto between = second.drain(stop % 9);
      Placed third(make());
      ASSERT_TRUE(third.restore(4, second.saved()));
      auto rest = between;
      const auto last = third.drain();
      rest.insert(rest.end(), last.begin(), last.end());
      ASSERT_EQ(rest, std::vector<Row>(expected.begin() + stop, expected.end()))
          << "window " << window << " at " << stop;
    }
  }
}

TEST(ShuffleWindow, WrongPositionsAreRefused) {
  const auto make = [] {
    return shuffle_window_stream(numbered(100), {10, 9});
  };
  // Input, first, read, key, ordinal.
  for (const Numbers& wrong :
       {Numbers{0, 0, 20, -1, -1}, Numbers{0, 5, 20, -1, -1},
        Numbers{0, 0, 100, -1, -1}, Numbers{99, 90, 100, 1 << 30, 99},
        Numbers{0, 20, 10, -1, -1}, Numbers{0, 0, 20, -1}}) {
    Placed stream(make());
    EXPECT_FALSE(stream.restore(0, wrong));
  }
  EXPECT_FALSE(shuffle_window_stream(numbered(1), {0, 1}));
  EXPECT_FALSE(shuffle_window_stream(numbered(1), {std::int64_t{1} << 40, 1}));
}

TEST(ShuffleWindow, ErrorsPassAndTheRestComes) {
  auto input = numbered(100);
  input->bad = {0, 50, 99};
  Placed stream(shuffle_window_stream(std::move(input), {10, 9}));
  ASSERT_TRUE(stream->start(0));
  int errors = 0;
  Numbers values;
  Element element;
  for (;;) {
    const auto got = stream->next(element);
    if (!got) {
      ++errors;
      continue;
    }
    if (!*got) break;
    values.push_back(element.index);
  }
  EXPECT_EQ(errors, 3);
  EXPECT_EQ(values.size(), 97u);
}

std::vector<std::unique_ptr<Stream>> lists_of(const Numbers& lengths) {
  std::vector<std::unique_ptr<Stream>> lists;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lists.push_back(numbered(lengths[i], 100 * static_cast<std::int64_t>(i)));
  }
  return lists;
}

Numbers interleaved(const Numbers& lengths, int cycle, std::int64_t block) {
  InterleaveOptions options;
  options.cycle = cycle;
  options.block = block;
  return firsts(Placed(interleave_stream(lists_of(lengths), options)).epoch(0));
}

// What tf.data.Dataset.interleave gives for ranges of these lengths.
TEST(Interleave, TurnsAsTensorFlowTakesThem) {
  EXPECT_EQ(interleaved({3, 1, 4, 2, 5}, 2, 1),
            (Numbers{0, 100, 1, 2, 200, 201, 300, 202, 301, 203, 400, 401, 402,
                     403, 404}));
  EXPECT_EQ(interleaved({3, 1, 4, 2, 5}, 3, 2),
            (Numbers{0, 1, 100, 200, 201, 2, 300, 301, 202, 203, 400, 401, 402,
                     403, 404}));
  EXPECT_EQ(interleaved({0, 2, 0, 0, 3, 1}, 2, 1),
            (Numbers{100, 101, 400, 500, 401, 402}));
  EXPECT_EQ(interleaved({5, 5}, 1, 2),
            (Numbers{0, 1, 2, 3, 4, 100, 101, 102, 103, 104}));
  EXPECT_EQ(interleaved({1, 2, 3, 4}, 4, 3),
            (Numbers{0, 100, 101, 200, 201, 202, 300, 301, 302, 303}));
  EXPECT_EQ(interleaved({2, 0, 3}, 3, 1), (Numbers{0, 200, 1, 201, 202}));
}

TEST(Interleave, GoesOnFromEveryPosition) {
  InterleaveOptions options;
  options.cycle = 3;
  options.block = 2;
  options.shuffle = true;
  const auto make = [&] {
    return interleave_stream(lists_of({7, 0, 4, 9, 1, 1, 5}), options);
  };
  for (const std::int64_t epoch : {0, 1}) {
    const auto expected = Placed(make()).epoch(epoch);
    EXPECT_EQ(expected.size(), 27u);
    for (std::int64_t stop = 0; stop <= 27; ++stop) {
      Placed first(make());
      ASSERT_TRUE(first->start(epoch));
      first.drain(stop);
      Placed second(make());
      ASSERT_TRUE(second.restore(epoch, first.saved()));
      ASSERT_EQ(second.drain(),
                std::vector<Row>(expected.begin() + stop, expected.end()));
    }
  }
}

TEST(Interleave, MemoryIsThatOfOneCycle) {
  InterleaveOptions options;
  options.cycle = 2;
  Placed few(interleave_stream(lists_of({1, 2}), options));
  Placed many(interleave_stream(lists_of(Numbers(50, 3)), options));
  EXPECT_EQ(few.bytes(), many.bytes());
  EXPECT_EQ(many.epoch(0).size(), 150u);
}

TEST(Interleave, WhereaboutsNameTheStream) {
  Placed stream(interleave_stream(lists_of({2, 2, 2}), {}));
  ASSERT_TRUE(stream->start(0));
  Element element;
  ASSERT_TRUE(stream->next(element));
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(stream->whereabouts(element), "numbers from 100, offset 0");
}

TEST(Interleave, RefusesWhatCannotBeSaved) {
  InterleaveOptions options;
  options.cycle = 22;
  EXPECT_TRUE(interleave_stream(lists_of(Numbers(40, 3)), options));
  options.cycle = 23;
  const auto refused = interleave_stream(lists_of(Numbers(40, 3)), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("at most 22"), std::string::npos)
      << refused.error().message;
  // There are never more open than there are.
  EXPECT_TRUE(interleave_stream(lists_of(Numbers(10, 3)), options));
}

}  // namespace
}  // namespace plimsoll::data
