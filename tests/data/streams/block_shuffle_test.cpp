#include "data/streams/block_shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "data/numbered_set.h"

namespace plimsoll::data {
namespace {

struct Placed {
  std::unique_ptr<BlockShuffle> stream;
  std::vector<std::byte> memory;

  Placed(std::int64_t size, std::int64_t block_bytes, std::int64_t window_bytes,
         std::uint64_t seed = 1) {
    stream = *BlockShuffle::create(std::make_shared<NumberedSet>(size),
                                   {seed, block_bytes, window_bytes});
    Placer counted;
    stream->place(counted);
    memory.resize(static_cast<std::size_t>(counted.bytes()) + 64);
    const auto misaligned =
        reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    Placer placer(memory.data() + (64 - misaligned) % 64);
    stream->place(placer);
  }

  std::vector<std::int64_t> rest() {
    std::vector<std::int64_t> numbers;
    Element element;
    for (;;) {
      const auto more = stream->next(element);
      EXPECT_TRUE(more) << more.error().message;
      if (!more || !*more) return numbers;
      std::int32_t label = 0;
      std::memcpy(&label, element.values[1].data, sizeof(label));
      EXPECT_EQ(label, element.index);
      numbers.push_back(element.index);
    }
  }
};

// An element has 16 bytes.
TEST(BlockShuffle, EveryElementOnceWhateverTheSizes) {
  for (const std::int64_t size : {1, 2, 15, 16, 17, 100, 1000}) {
    for (const std::int64_t block : {16, 160, 4096}) {
      for (const std::int64_t window : {16, 640, 100000}) {
        Placed placed(size, block, window);
        ASSERT_TRUE(placed.stream->start(3));
        auto numbers = placed.rest();
        std::sort(numbers.begin(), numbers.end());
        std::vector<std::int64_t> all(static_cast<std::size_t>(size));
        std::iota(all.begin(), all.end(), 0);
        ASSERT_EQ(numbers, all) << size << " " << block << " " << window;
      }
    }
  }
}

TEST(BlockShuffle, AnotherOrderInEachEpochAndForEachSeed) {
  Placed one(1000, 160, 1600);
  Placed other(1000, 160, 1600, 2);
  ASSERT_TRUE(one.stream->start(0));
  const auto first = one.rest();
  ASSERT_TRUE(one.stream->start(1));
  EXPECT_NE(one.rest(), first);
  ASSERT_TRUE(one.stream->start(0));
  EXPECT_EQ(one.rest(), first);
  ASSERT_TRUE(other.stream->start(0));
  EXPECT_NE(other.rest(), first);
  // Not only the blocks are moved.
  int neighbours = 0;
  for (std::size_t i = 1; i < first.size(); ++i) {
    neighbours += first[i] == first[i - 1] + 1;
  }
  EXPECT_LT(neighbours, 60);
}

TEST(BlockShuffle, GoesOnFromAnyPosition) {
  Placed placed(500, 160, 1600);
  ASSERT_TRUE(placed.stream->start(4));
  const auto whole = placed.rest();
  for (std::int64_t position = 0; position <= 500; position += 37) {
    State state;
    state.push(position);
    StateReader reader(state.numbers());
    ASSERT_TRUE(placed.stream->restore(4, reader));
    EXPECT_EQ(placed.rest(),
              std::vector(whole.begin() + position, whole.end()));
  }
  State outside;
  outside.push(501);
  StateReader reader(outside.numbers());
  EXPECT_FALSE(placed.stream->restore(4, reader));
}

TEST(BlockShuffle, ReadsABlockInOneGo) {
  const auto set = std::make_shared<NumberedSet>(1000);
  auto stream = *BlockShuffle::create(set, {1, 1600, 4800});
  EXPECT_EQ(stream->block_elements(), 100);
  EXPECT_EQ(stream->window_elements(), 300);
  Placer counted;
  stream->place(counted);
  // Rows, numbers and the set's scratch.
  EXPECT_EQ(counted.bytes(), 3648 + 1216 + 2432 + 128);
  void* const memory =
      std::aligned_alloc(64, static_cast<std::size_t>(counted.bytes()));
  Placer placer(static_cast<std::byte*>(memory));
  stream->place(placer);
  ASSERT_TRUE(stream->start(0));
  Element element;
  while (*stream->next(element)) {
  }
  EXPECT_EQ(set->reads, 10);
  std::free(memory);
}

}  // namespace
}  // namespace plimsoll::data
