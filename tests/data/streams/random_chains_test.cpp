// Random chains of stages against a plain model of each, with any number of
// threads, and from saved positions.
#include "data/streams/random_chains.h"

#include <iterator>
#include <limits>
#include <random>

namespace plimsoll::data {
namespace {

class RandomChains : public testing::TestWithParam<int> {};

TEST_P(RandomChains, AreAsTheModelAndGoOnFromPositions) {
  auto workers = taken(Workers::create(GetParam()));
  std::mt19937 random(77);
  int positions = 0;
  int nonempty = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    const auto make = [&] { return ChainBuilder(seed, *workers).build(); };
    Chain chain = make();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + chain.text);
    const Model model = chain.model;
    Placed placed(std::move(chain.stream));
    State state;
    placed->save(state);
    ASSERT_TRUE(state.fits());
    for (const std::int64_t epoch : {0, 1, 5}) {
      const Rows expected = model(epoch);
      ASSERT_EQ(placed.epoch(epoch), expected);
      if (placed->count() != kUnknownCount) {
        ASSERT_EQ(placed->count(), std::ssize(expected));
      }
      nonempty += expected.empty() ? 0 : 1;
      for (int i = 0; i < 2; ++i, ++positions) {
        const auto stop =
            static_cast<std::int64_t>(random() % (expected.size() + 1));
        ASSERT_TRUE(placed->start(epoch));
        placed.drain(stop);
        const auto position = placed.saved();
        ASSERT_EQ(position.size(), state.numbers().size());
        const Rows rest(expected.begin() + stop, expected.end());
        // Saving changes nothing, a new chain goes on there, and so does the
        // same one.
        Placed fresh(make().stream);
        ASSERT_TRUE(fresh.restore(epoch, position));
        ASSERT_EQ(fresh.drain(std::ssize(rest) / 2),
                  Rows(rest.begin(), rest.begin() + std::ssize(rest) / 2));
        Placed again(make().stream);
        ASSERT_TRUE(again.restore(epoch, fresh.saved()));
        ASSERT_EQ(again.drain(),
                  Rows(rest.begin() + std::ssize(rest) / 2, rest.end()));
        ASSERT_EQ(placed.drain(), rest);
        ASSERT_TRUE(placed.restore(epoch, position));
        ASSERT_EQ(placed.drain(), rest);
        ASSERT_EQ(fresh.epoch(epoch + 1), model(epoch + 1));
      }
    }
  }
  EXPECT_GE(positions, 100);
  EXPECT_GE(nonempty, 200);
}

INSTANTIATE_TEST_SUITE_P(Threads, RandomChains, testing::Values(0, 1, 2, 8));

TEST(RandomChains, PositionsOfOtherPipelinesAreErrors) {
  auto workers = taken(Workers::create(1));
  std::mt19937 random(5);
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    Placed placed(ChainBuilder(seed, *workers).build().stream);
    ASSERT_TRUE(placed->start(0));
    placed.drain(7);
    auto numbers = placed.saved();
    for (std::int64_t& number : numbers) {
      if (random() % 3 != 0) continue;
      const std::int64_t choices[] = {-1,
                                      0,
                                      1,
                                      1 << 20,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min(),
                                      number + 1,
                                      number - 1};
      number = choices[random() % std::size(choices)];
    }
    // Refused or taken for a position: never a crash, and never endless.
    StateReader reader(numbers);
    if (placed->restore(0, reader)) {
      Element element;
      for (int i = 0; i < 500; ++i) {
        const auto got = placed->next(element);
        if (!got || !*got) break;
      }
    }
    numbers.pop_back();
    StateReader shorter(numbers);
    EXPECT_FALSE(placed->restore(0, shorter));
  }
}

}  // namespace
}  // namespace plimsoll::data
