#include "data/streams/block_shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "data/numbered_set.h"

namespace plimsoll::data {
namespace {

// Takes its time, so that blocks are under way when an epoch is left.
class SlowSet final : public Indexed {
 public:
  explicit SlowSet(std::shared_ptr<const Indexed> set) : set_(std::move(set)) {}
  std::string name() const override { return set_->name(); }
  const ElementSpec& spec() const override { return set_->spec(); }
  std::int64_t size() const override { return set_->size(); }
  std::int64_t scratch_bytes() const override { return set_->scratch_bytes(); }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override {
    return set_->read(number, out, buffers, context);
  }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return set_->gather(numbers, rows, context);
  }
  std::string whereabouts(std::int64_t number) const override {
    return set_->whereabouts(number);
  }
  std::string describe() const override { return set_->describe(); }

 private:
  std::shared_ptr<const Indexed> set_;
};

// An element has 16 bytes.
struct Placed {
  std::shared_ptr<NumberedSet> set;
  std::vector<std::byte> memory;
  std::unique_ptr<BlockShuffle> stream;

  Placed(std::int64_t size, const BlockShuffleOptions& options,
         bool slow = false)
      : set(std::make_shared<NumberedSet>(size)) {
    std::shared_ptr<const Indexed> read = set;
    if (slow) read = std::make_shared<SlowSet>(set);
    stream = *BlockShuffle::create(read, options);
    Placer counted;
    stream->place(counted);
    memory.resize(static_cast<std::size_t>(counted.bytes()) + 64);
    const auto misaligned =
        reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    Placer placer(memory.data() + (64 - misaligned) % 64);
    stream->place(placer);
  }

  std::vector<std::int64_t> rest(std::int64_t most = 1 << 30) {
    std::vector<std::int64_t> numbers;
    Element element;
    while (static_cast<std::int64_t>(numbers.size()) < most) {
      const auto more = stream->next(element);
      EXPECT_TRUE(more) << more.error().message;
      if (!more || !*more) break;
      std::int32_t label = 0;
      std::memcpy(&label, element.values[1].data, sizeof(label));
      EXPECT_EQ(label, element.index);
      numbers.push_back(element.index);
    }
    return numbers;
  }

  // The same by next_rows().
  std::vector<std::int64_t> stacked(std::int64_t batch) {
    std::vector<std::int64_t> numbers;
    std::vector<float> x(static_cast<std::size_t>(3 * batch));
    std::vector<std::int32_t> y(static_cast<std::size_t>(batch));
    std::byte* const rows[] = {reinterpret_cast<std::byte*>(x.data()),
                               reinterpret_cast<std::byte*>(y.data())};
    for (;;) {
      const auto count = stream->next_rows(batch, rows);
      EXPECT_TRUE(count) << count.error().message;
      if (!count) return numbers;
      for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
        EXPECT_EQ(x[3 * i + 2], static_cast<float>(y[i] * 10 + 2));
        numbers.push_back(y[i]);
      }
      if (*count < batch) return numbers;
    }
  }
};

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The number of threads that read ahead.
class BlockShuffleAhead : public testing::TestWithParam<int> {
 protected:
  BlockShuffleOptions options(std::int64_t block_bytes,
                              std::int64_t window_bytes) const {
    return {1, block_bytes, window_bytes, workers_.get()};
  }
  std::unique_ptr<Workers> workers_ = *Workers::create(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Threads, BlockShuffleAhead, testing::Values(0, 1, 3));

TEST_P(BlockShuffleAhead, EveryElementOnceWhateverTheSizes) {
  for (const std::int64_t size : {1, 2, 15, 16, 17, 100, 1000}) {
    for (const std::int64_t block : {16, 160, 4096}) {
      for (const std::int64_t window : {16, 640, 100000}) {
        Placed placed(size, options(block, window));
        Placed alone(size, {1, block, window});
        ASSERT_TRUE(placed.stream->start(3));
        ASSERT_TRUE(alone.stream->start(3));
        auto numbers = placed.rest();
        // Threads do not change the order, nor does taking many at once.
        ASSERT_EQ(numbers, alone.rest());
        for (const std::int64_t batch : {1, 7, 2000}) {
          ASSERT_TRUE(placed.stream->start(3));
          ASSERT_EQ(placed.stacked(batch), numbers);
        }
        std::sort(numbers.begin(), numbers.end());
        ASSERT_EQ(numbers, first_numbers(size))
            << size << " " << block << " " << window;
      }
    }
  }
}

TEST_P(BlockShuffleAhead, GoesOnFromAnyPosition) {
  Placed placed(500, options(160, 1600));
  ASSERT_TRUE(placed.stream->start(4));
  const auto whole = placed.rest();
  for (std::int64_t position = 0; position <= 500; position += 37) {
    State state;
    state.push(position);
    StateReader reader(state.numbers());
    ASSERT_TRUE(placed.stream->restore(4, reader));
    const std::vector rest(whole.begin() + position, whole.end());
    EXPECT_EQ(placed.rest(), rest);
    StateReader again(state.numbers());
    ASSERT_TRUE(placed.stream->restore(4, again));
    EXPECT_EQ(placed.stacked(9), rest);
  }
  State outside;
  outside.push(501);
  StateReader reader(outside.numbers());
  EXPECT_FALSE(placed.stream->restore(4, reader));
}

TEST_P(BlockShuffleAhead, AnErrorComesWithItsWindowAsOftenAsItIsAskedFor) {
  Placed placed(500, options(160, 1600));
  ASSERT_TRUE(placed.stream->start(4));
  const auto whole = placed.rest();
  // The first element of a block of the third window.
  placed.set->failing = whole[230] / 10 * 10;
  ASSERT_TRUE(placed.stream->start(4));
  EXPECT_EQ(placed.rest(200), std::vector(whole.begin(), whole.begin() + 200));
  Element element;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto failed = placed.stream->next(element);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message,
              "example " + std::to_string(placed.set->failing));
  }
  placed.set->throwing = placed.set->failing.exchange(-1);
  EXPECT_THROW(static_cast<void>(placed.stream->next(element)),
               std::runtime_error);
  placed.set->throwing = -1;
  EXPECT_EQ(placed.rest(), std::vector(whole.begin() + 200, whole.end()));
}

TEST_P(BlockShuffleAhead, EpochsAreLeftAtAnyMoment) {
  for (int i = 0; i < 60; ++i) {
    Placed placed(100, options(80, 400), true);
    if (i % 3 == 0) continue;
    ASSERT_TRUE(placed.stream->start(i));
    placed.rest(i % 40);
    if (i % 3 == 1) continue;
    ASSERT_TRUE(placed.stream->start(i + 1));
    auto numbers = placed.rest();
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(numbers, first_numbers(100));
  }
}

TEST(BlockShuffle, AnotherOrderInEachEpochAndForEachSeed) {
  Placed one(1000, {1, 160, 1600});
  Placed other(1000, {2, 160, 1600});
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

TEST(BlockShuffle, EveryOrderOfAWindowIsAsLikely) {
  Placed placed(5, {1, 80, 80});
  std::map<std::vector<std::int64_t>, int> seen;
  constexpr int kEpochs = 12'000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    ASSERT_TRUE(placed.stream->start(epoch));
    ++seen[placed.rest()];
  }
  EXPECT_EQ(seen.size(), 120u);
  // Chi-squared with 119 degrees of freedom: 0.1 % lie above 173.
  double apart = 0;
  for (const auto& [order, times] : seen) {
    const double off = times - kEpochs / 120.0;
    apart += off * off / (kEpochs / 120.0);
  }
  EXPECT_LT(apart, 173);
}

TEST(BlockShuffle, ReadsABlockInOneGo) {
  Placed placed(1000, {1, 1600, 4800});
  EXPECT_EQ(placed.stream->block_elements(), 100);
  EXPECT_EQ(placed.stream->window_elements(), 300);
  ASSERT_TRUE(placed.stream->start(0));
  EXPECT_EQ(placed.rest().size(), 1000u);
  EXPECT_EQ(placed.set->reads, 10);
}

TEST(BlockShuffle, CountsItsMemory) {
  const auto bytes = [](std::int64_t size, Workers* workers) {
    auto stream = *BlockShuffle::create(std::make_shared<NumberedSet>(size),
                                        {1, 1600, 4800, workers});
    Placer counted;
    stream->place(counted);
    return counted.bytes();
  };
  // Rows of two fields, numbers and order; then the set's scratch.
  constexpr std::int64_t kWindow = 3648 + 1216 + 2432 + 1216;
  EXPECT_EQ(bytes(1000, nullptr), kWindow + 128);
  const auto none = *Workers::create(0);
  EXPECT_EQ(bytes(1000, none.get()), kWindow + 128);
  const auto two = *Workers::create(2);
  EXPECT_EQ(bytes(1000, two.get()), 2 * kWindow + 3 * 128);
  EXPECT_EQ(bytes(300, two.get()), kWindow + 128) << "there is no next one";
}

}  // namespace
}  // namespace plimsoll::data
