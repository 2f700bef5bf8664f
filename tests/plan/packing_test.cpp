#include "plan/packing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "plan/packer.h"
#include "plan/random_program.h"

namespace plimsoll::plan {
namespace {

using testing::Random;

// Every pair, on purpose: the packer itself must not be trusted here.
void expect_sound(std::span<const PackItem> items, const Packing& packing) {
  ASSERT_EQ(packing.offsets.size(), items.size());
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_GE(packing.offsets[i], 0);
    const std::int64_t end = packing.offsets[i] + items[i].size_bytes;
    highest = std::max(highest, end);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together =
          items[i].lower < items[j].upper && items[j].lower < items[i].upper;
      const bool overlap =
          packing.offsets[i] < packing.offsets[j] + items[j].size_bytes &&
          packing.offsets[j] < end;
      ASSERT_FALSE(together && overlap && items[i].size_bytes > 0 &&
                   items[j].size_bytes > 0)
          << i << " and " << j;
    }
  }
  EXPECT_EQ(packing.height_bytes, highest);
  EXPECT_GE(packing.height_bytes, packing.lower_bound_bytes);
}

TEST(Packing, NothingTakesNothing) {
  const Packing packing = pack({});
  EXPECT_EQ(packing.height_bytes, 0);
  EXPECT_EQ(packing.lower_bound_bytes, 0);
  EXPECT_TRUE(packing.offsets.empty());
}

TEST(Packing, EmptyItemsTakeNoPlace) {
  const std::vector<PackItem> items = {{0, 9, 0}, {0, 9, 64}, {3, 3, 64}};
  const Packing packing = pack(items);
  EXPECT_EQ(packing.height_bytes, 64);
  EXPECT_EQ(packing.offsets, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Packing, ItemsThatOnlyTouchShareAPlace) {
  const std::vector<PackItem> items = {{0, 2, 10}, {2, 4, 10}, {1, 3, 5}};
  const Packing packing = pack(items);
  expect_sound(items, packing);
  EXPECT_EQ(packing.height_bytes, 15);
}

TEST(Packing, TimesMayBeAnyNumbers) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<PackItem> items = {
      {-kMost - 1, 0, 8}, {0, kMost, 8}, {-5, 5, 8}};
  const Packing packing = pack(items);
  expect_sound(items, packing);
  EXPECT_EQ(packing.height_bytes, 16);
}

TEST(Packer, StepsReachTheBoundWhereGreedyOrdersDoNot) {
  Random random(23);
  int missed = 0;  // by the greedy orders
  int promoted = 0;
  int searched = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<DenseItem> items;
    std::vector<std::int64_t> alive(40, 0);
    for (int i = 0; i < 30; ++i) {
      const auto lower = static_cast<std::int32_t>(random.between(0, 25));
      const auto upper =
          lower + static_cast<std::int32_t>(random.between(1, 12));
      items.push_back({lower, upper, random.between(1, 50)});
      for (std::int32_t t = lower; t < upper; ++t) {
        alive[static_cast<std::size_t>(t)] += items.back().size_bytes;
      }
    }
    const std::int64_t bound = *std::max_element(alive.begin(), alive.end());
    Packer one(items, bound, std::pmr::get_default_resource());
    one.place_greedily(1'000'000);
    if (one.done()) continue;
    ++missed;
    Packer other = one;
    const std::int64_t before = one.height_bytes();
    one.promote(100'000);
    other.search_bound(300'000);
    EXPECT_LE(one.height_bytes(), before);
    promoted += one.height_bytes() < before;
    searched += other.done();
  }
  std::printf(
      "greedy missed the bound %d times; promoting lowered %d, "
      "searching reached the bound in %d\n",
      missed, promoted, searched);
  EXPECT_GT(missed, 20);
  EXPECT_GT(promoted, missed / 2);
  EXPECT_GT(searched, missed * 9 / 10);
}

TEST(Packing, RandomItemsAreSoundAndTheSameEachTime) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<PackItem> items;
    const std::int64_t count = random.between(1, 60);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t lower = random.between(0, 40);
      items.push_back(
          {lower, lower + random.between(1, 20), random.between(0, 1000)});
    }
    PackOptions options;
    options.work = 200'000;
    const Packing packing = pack(items, options);
    expect_sound(items, packing);
    EXPECT_EQ(packing.offsets, pack(items, options).offsets);
  }
}

TEST(Packing, ManyBuffersOfATrainingStep) {
  // Activations nest around the backward pass; gradients and scratch between.
  Random random(11);
  std::vector<PackItem> items;
  constexpr std::int64_t kLayers = 3333;
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const std::int64_t back = 2 * kLayers - i;
    items.push_back({i, back + 1, random.between(1, 1000) * 64});
    items.push_back({back, back + 2, random.between(1, 1000) * 64});
    items.push_back({back, back + 1, random.between(1, 1000) * 64});
  }
  const auto start = std::chrono::steady_clock::now();
  const Packing packing = pack(items);
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::printf("%zu buffers: height / bound %.5f in %.3f s\n", items.size(),
              static_cast<double>(packing.height_bytes) /
                  static_cast<double>(packing.lower_bound_bytes),
              seconds.count());
  expect_sound(items, packing);
  EXPECT_LE(packing.height_bytes, packing.lower_bound_bytes * 102 / 100);
}

TEST(Packing, CheckNamesBadItems) {
  const auto message = [](std::vector<PackItem> items) {
    const Status status = check_items(items);
    return status ? std::string("ok") : status.error().message;
  };
  EXPECT_EQ(message({{0, 1, 5}, {0, 1, 0}}), "ok");
  EXPECT_EQ(message({{0, 1, 5}, {1, 1, 5}}), "item 1: its life is empty");
  EXPECT_EQ(message({{0, 1, -5}}), "item 0: its size is negative");
  constexpr std::int64_t kHalf = std::int64_t{1} << 61;
  EXPECT_EQ(message({{0, 1, kHalf}, {0, 1, kHalf}}), "ok");
  EXPECT_EQ(message({{0, 1, kHalf}, {0, 1, kHalf}, {0, 1, 1}}),
            "item 2: the sizes add up to more than 2^62 bytes");
}

// Heights by trying every order: the truth for few items.
std::int64_t least_height(const std::vector<DenseItem>& items) {
  std::vector<std::int32_t> order(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    order[i] = static_cast<std::int32_t>(i);
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    std::vector<std::int64_t> ends(items.size(), 0);
    std::int64_t height = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const DenseItem& item = items[static_cast<std::size_t>(order[i])];
      std::int64_t offset = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const DenseItem& other = items[static_cast<std::size_t>(order[j])];
        if (item.lower < other.upper && other.lower < item.upper) {
          offset = std::max(offset, ends[j]);
        }
      }
      ends[i] = offset + item.size_bytes;
      height = std::max(height, ends[i]);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

void expect_finds_least(const std::vector<DenseItem>& items) {
  const std::int64_t least = least_height(items);
  std::vector<std::int32_t> rank;
  std::vector<PackItem> wide;
  for (const DenseItem& item : items) {
    rank.push_back(static_cast<std::int32_t>(rank.size()));
    wide.push_back({item.lower, item.upper, item.size_bytes});
  }
  CanonicalSearch search(items, std::pmr::get_default_resource());
  std::vector<std::int64_t> offsets(items.size());
  EXPECT_EQ(search.run(rank, least, 1'000'000, offsets), Found::yes);
  EXPECT_EQ(search.run(rank, least - 1, 1'000'000, offsets), Found::impossible);
  const Packing packing = pack(wide);
  expect_sound(wide, packing);
  EXPECT_EQ(packing.height_bytes, least);
}

TEST(CanonicalSearch, FindsTheLeastHeightAndNoLess) {
  Random random(3);
  for (int round = 0; round < 150; ++round) {
    std::vector<DenseItem> items;
    for (std::int32_t i = 0; i < 7; ++i) {
      const auto lower = static_cast<std::int32_t>(random.between(0, 6));
      const auto life = static_cast<std::int32_t>(random.between(1, 4));
      items.push_back({lower, lower + life, random.between(1, 9)});
    }
    expect_finds_least(items);
  }
}

TEST(CanonicalSearch, ProvesThatTheBoundCannotBeReached) {
  // At most 6 are alive at one time, yet no arrangement is lower than 7.
  const std::vector<DenseItem> items = {{3, 5, 1}, {6, 7, 3}, {0, 3, 3},
                                        {1, 4, 3}, {3, 6, 1}, {0, 1, 1},
                                        {4, 6, 2}, {5, 9, 3}};
  EXPECT_EQ(least_height(items), 7);
  expect_finds_least(items);
}

TEST(CanonicalSearch, StopsWhenItsWorkIsSpent) {
  Random random(5);
  std::vector<DenseItem> items;
  std::vector<std::int32_t> rank;
  for (std::int32_t i = 0; i < 100; ++i) {
    const auto lower = static_cast<std::int32_t>(random.between(0, 50));
    items.push_back({lower, lower + 20, random.between(1, 1000)});
    rank.push_back(i);
  }
  CanonicalSearch search(items, std::pmr::get_default_resource());
  std::vector<std::int64_t> offsets(items.size());
  EXPECT_EQ(search.run(rank, 1 << 30, 10, offsets), Found::out_of_work);
}

std::vector<PackItem> read_instance(const std::filesystem::path& path) {
  std::vector<PackItem> items;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // id,lower,upper,size
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string id;
    PackItem item;
    char comma = 0;
    std::getline(fields, id, ',');
    if (fields >> item.lower >> comma >> item.upper >> comma >>
        item.size_bytes) {
      items.push_back(item);
    }
  }
  return items;
}

TEST(Packing, PublicInstances) {
  const char* said = std::getenv("PLIMSOLL_SHARED_DATA");
  const std::filesystem::path folder =
      (said ? std::filesystem::path(said)
            : std::filesystem::path(PLIMSOLL_SOURCE_ROOT) / "../shared/data") /
      "packing";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no packing instances: set PLIMSOLL_SHARED_DATA to the "
                    "folder that holds packing/*.csv";
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    const std::vector<PackItem> items = read_instance(path);
    ASSERT_FALSE(items.empty());
    const auto start = std::chrono::steady_clock::now();
    const Packing packing = pack(items);
    const std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    expect_sound(items, packing);
    const double ratio = static_cast<double>(packing.height_bytes) /
                         static_cast<double>(packing.lower_bound_bytes);
    std::printf("%-14s %5zu items, height %11lld, bound %11lld, %.4f, %.1f ms",
                path.stem().c_str(), items.size(),
                static_cast<long long>(packing.height_bytes),
                static_cast<long long>(packing.lower_bound_bytes), ratio,
                time.count());
    const bool hard = path.stem().extension() == ".1048576";
    if (hard) {
      std::printf(", height / capacity %.4f",
                  static_cast<double>(packing.height_bytes) / 1048576);
    }
    std::printf("\n");
    EXPECT_LE(ratio, hard ? 1.25 : 1.001);
  }
}

}  // namespace
}  // namespace plimsoll::plan
