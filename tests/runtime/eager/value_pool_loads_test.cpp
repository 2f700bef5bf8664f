// Loads of a million blocks each, on pages and on a device's granules: what is
// held stays by what is alive.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/units.h"
#include "device/null/null_memory_source.h"
#include "runtime/eager/value_pool.h"

namespace plimsoll::runtime {
namespace {

constexpr std::int64_t kFloorBytes = 4 * kMiB;
constexpr int kBlocks = 1000000;
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kDeviceGranule = 2 * kMiB;
using Random = std::mt19937_64;

struct Load {
  const char* name;
  // The size of block i, and how many are then alive.
  std::function<std::int64_t(Random&, int i)> bytes;
  std::function<std::size_t(int i)> alive;
  // Which one goes first: any, or the oldest, or mostly the newest.
  enum class Goes { any, oldest, newest } goes = Goes::any;
};

void PrintTo(const Load& load, std::ostream* to) { *to << load.name; }

std::int64_t between(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

std::int64_t log_between(Random& random, double least, double most) {
  std::uniform_real_distribution<double> log(std::log(least), std::log(most));
  return std::llround(std::exp(log(random)));
}

auto always(std::size_t count) {
  return [count](int) { return count; };
}

// Up to `most`, down to a tenth, and so on.
auto sawtooth(std::size_t most) {
  return [most](int i) {
    const auto at = static_cast<std::size_t>(i) % (2 * most);
    return at < most ? at + 1 : std::max(most - (at - most), most / 10);
  };
}

std::vector<Load> loads() {
  const auto uniform = [](std::int64_t least, std::int64_t most) {
    return [=](Random& random, int) { return between(random, least, most); };
  };
  const auto log_uniform = [](Random& random, int) {
    return log_between(random, 64, 64e6);
  };
  // Small ones, and every tenth large.
  const auto mixed = [](Random& random, int i) {
    return i % 10 == 0 ? between(random, kMiB, 64 * kMiB)
                       : between(random, 4, 4 * kKiB);
  };
  const auto growing = [](Random& random, int i) {
    const double most = 1000 * std::exp(std::log(1e5) * i / kBlocks);
    return between(random, static_cast<std::int64_t>(most / 2),
                   static_cast<std::int64_t>(most));
  };
  const auto alternating = [](Random& random, int i) {
    return i / 20000 % 2 == 0 ? between(random, 4, 2 * kKiB)
                              : between(random, 100 * kKiB, 2 * kMiB);
  };
  using Goes = Load::Goes;
  return {
      {"small", uniform(4, 2 * kKiB), always(100000)},
      {"few_kib", uniform(2 * kKiB, 8 * kKiB), always(20000)},
      {"up_to_64_kib", uniform(4, 64 * kKiB), always(10000)},
      {"up_to_1_mib", uniform(4, kMiB), always(1000)},
      {"up_to_200_mib", uniform(4, 200 * kMiB), always(50)},
      {"log_uniform", log_uniform, always(1000)},
      {"log_uniform_oldest_first", log_uniform, always(300), Goes::oldest},
      {"log_uniform_sawtooth", log_uniform, sawtooth(2000)},
      {"up_to_64_kib_sawtooth", uniform(4, 64 * kKiB), sawtooth(10000)},
      {"small_sawtooth", uniform(4, 2 * kKiB), sawtooth(100000)},
      {"growing", growing, always(1000)},
      {"growing_newest_first", growing, sawtooth(500), Goes::newest},
      {"alternating", alternating, always(2000)},
      {"small_and_large", mixed, always(1000)},
      {"small_and_large_sawtooth", mixed, sawtooth(1000), Goes::oldest},
  };
}

class Player {
 public:
  Player(const Load& load, std::int64_t granule)
      : load_(load),
        // Of a device: one that is not full at either end.
        slack_(granule > kPage ? 2 * granule : 0),
        source_(1024 * kGiB, granule),
        pool_(source_, ledger_) {
    blocks_.reserve(300000);  // by itself, this program allocates nothing
  }

  void play(int from, int to) {
    for (int i = from; i < to; ++i) {
      const auto block = pool_.allocate(load_.bytes(random_, i));
      ASSERT_TRUE(block.ok()) << block.error().message;
      blocks_.push_back(*block);
      look();
      while (blocks_.size() - oldest_ > load_.alive(i)) {
        release_one();
        look();
      }
    }
  }
  double worst() const { return worst_; }
  const NullMemorySource& source() const { return source_; }

 private:
  void release_one() {
    if (load_.goes == Load::Goes::oldest) {
      pool_.release(blocks_[oldest_++]);
      if (oldest_ < 10000) return;
      blocks_.erase(blocks_.begin(), blocks_.begin() + 10000);
      oldest_ = 0;
      return;
    }
    const std::size_t last = blocks_.size() - 1;
    const bool newest = load_.goes == Load::Goes::newest && random_() % 8 != 0;
    std::swap(blocks_[newest ? last : random_() % blocks_.size()],
              blocks_[last]);
    pool_.release(blocks_[last]);
    blocks_.pop_back();
  }

  void look() {
    const std::int64_t held = pool_.held_bytes();
    const std::int64_t live = pool_.live_bytes();
    const std::int64_t peak = pool_.peak_live_bytes();
    const std::int64_t bound =
        std::max(peak + peak / 10, live + kFloorBytes) + slack_;
    worst_ = std::max(worst_,
                      static_cast<double>(held) / static_cast<double>(bound));
    ASSERT_EQ(held, source_.mapped_bytes());
  }

  const Load& load_;
  const std::int64_t slack_;
  NullMemorySource source_;
  Ledger ledger_;
  ValuePool pool_;
  Random random_{11};
  std::vector<Block> blocks_;
  std::size_t oldest_ = 0;
  double worst_ = 0;
};

class ValuePoolLoadsTest : public ::testing::TestWithParam<Load> {
 protected:
  static void play(std::int64_t granule) {
    Player player(GetParam(), granule);
    player.play(0, kBlocks);
    RecordProperty("held_to_bound", std::to_string(player.worst()));
    EXPECT_LE(player.worst(), 1);
  }
};

TEST_P(ValuePoolLoadsTest, WhatIsHeldStaysByWhatIsAlive) { play(kPage); }
TEST_P(ValuePoolLoadsTest, OnADeviceToo) { play(kDeviceGranule); }

INSTANTIATE_TEST_SUITE_P(Loads, ValuePoolLoadsTest,
                         ::testing::ValuesIn(loads()), [](const auto& load) {
                           return std::string(load.param.name);
                         });

#if !defined(PLIMSOLL_SANITIZED)
TEST(ValuePoolFlatTest, NothingGrowsAfterTheFirstTenth) {
  const auto heap_bytes = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  Load load{"flat", {}, always(1000)};
  load.bytes = [](Random& random, int) { return log_between(random, 4, 64e6); };
  Player player(load, kPage);
  player.play(0, kBlocks / 10);
  const std::int64_t most_mapped = player.source().peak_mapped_bytes();
  const std::size_t malloced = heap_bytes();
  player.play(kBlocks / 10, kBlocks);
  EXPECT_LE(heap_bytes(), malloced);
  // The peak of what is alive moves a little, and the bound with it.
  EXPECT_LE(player.source().peak_mapped_bytes(),
            most_mapped + most_mapped / 20);
}
#endif

}  // namespace
}  // namespace plimsoll::runtime
