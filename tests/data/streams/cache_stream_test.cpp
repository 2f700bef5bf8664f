#include "data/streams/cache_stream.h"

#include <filesystem>

#include "data/streams/stream_fixture.h"

namespace plimsoll::data {
namespace {

struct Cached {
  Cached(std::unique_ptr<Stream> input, std::int64_t bytes, std::string folder)
      : cache(taken(
            CacheStream::create(std::move(input), {bytes, std::move(folder)}))),
        stream(cache.get()),
        placed(std::unique_ptr<Stream>(std::move(cache))) {}

  std::unique_ptr<CacheStream> cache;
  CacheStream* stream;
  Placed placed;
};

std::string folder() { return testing::TempDir(); }

TEST(CacheStream, LaterEpochsComeFromTheCache) {
  for (const bool varies : {false, true}) {
    for (const std::int64_t bytes : {0, 100, 3000, 1 << 20}) {
      int pulls = 0;
      auto input = numbered(200, 0, varies);
      input->pulls = &pulls;
      const auto expected = input->rows(0);
      Cached cached(std::move(input), bytes, folder());
      EXPECT_EQ(cached.placed.epoch(0), expected);
      EXPECT_TRUE(cached.stream->complete());
      EXPECT_EQ(pulls, 201);
      for (const std::int64_t epoch : {1, 2, 7}) {
        ASSERT_EQ(cached.placed.epoch(epoch), expected) << bytes;
      }
      EXPECT_EQ(pulls, 201);
      EXPECT_LE(cached.stream->memory_bytes_used(), bytes);
      EXPECT_EQ(cached.stream->elements(), 200);
      EXPECT_EQ(cached.stream->file_bytes() == 0, bytes == 1 << 20);
    }
  }
}

TEST(CacheStream, ManyBuffersOfElementsInTheFile) {
  auto input = numbered(30'000, 0, true);
  const auto expected = input->rows(0);
  Cached cached(std::move(input), 5000, folder());
  cached.placed.epoch(0);
  EXPECT_GT(cached.stream->file_bytes(), 1'000'000);
  EXPECT_EQ(cached.placed.epoch(1), expected);
  EXPECT_EQ(cached.placed.epoch(2), expected);
}

TEST(CacheStream, LeavesNoFile) {
  const std::string empty = testing::TempDir() + "/plimsoll-cache-test";
  std::filesystem::create_directory(empty);
  {
    Cached cached(numbered(100), 0, empty);
    cached.placed.epoch(0);
    EXPECT_GT(cached.stream->file_bytes(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(empty));
  }
  EXPECT_TRUE(std::filesystem::is_empty(empty));
  std::filesystem::remove(empty);
}

TEST(CacheStream, WithoutAFolderAllMustFit) {
  Cached cached(numbered(100), 1000, "");
  ASSERT_TRUE(cached.placed->start(0));
  Element element;
  for (;;) {
    const auto got = cached.placed->next(element);
    if (got) {
      ASSERT_TRUE(*got);
      continue;
    }
    EXPECT_NE(got.error().message.find("give it more bytes, or a folder"),
              std::string::npos);
    break;
  }
  Cached wrong(numbered(100), 0, "/no/such/folder");
  ASSERT_TRUE(wrong.placed->start(0));
  const auto got = wrong.placed->next(element);
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("/no/such/folder"), std::string::npos);
}

TEST(CacheStream, AnAbandonedFirstEpochIsNotKept) {
  Cached cached(numbered(50), 1000, folder());
  ASSERT_TRUE(cached.placed->start(0));
  cached.placed.drain(30);
  const auto expected = numbered(50)->rows(0);
  EXPECT_EQ(cached.placed.epoch(1), expected);
  EXPECT_EQ(cached.stream->elements(), 50);
  EXPECT_EQ(cached.placed.epoch(2), expected);
}

TEST(CacheStream, GoesOnFromEveryPosition) {
  const auto expected = numbered(60)->rows(0);
  for (std::int64_t stop = 0; stop <= 60; ++stop) {
    for (const std::int64_t epoch : {0, 1}) {
      Cached first(numbered(60), 1000, folder());
      for (std::int64_t i = 0; i < epoch; ++i) first.placed.epoch(i);
      ASSERT_TRUE(first.placed->start(epoch));
      first.placed.drain(stop);
      const auto position = first.placed.saved();
      const std::vector<Row> rest(expected.begin() + stop, expected.end());

      Cached fresh(numbered(60), 1000, folder());
      ASSERT_TRUE(fresh.placed.restore(epoch, position));
      ASSERT_EQ(fresh.placed.drain(), rest) << stop;
      // Half an epoch is not taken for a whole one.
      ASSERT_EQ(fresh.placed.epoch(epoch + 1), expected);
      ASSERT_TRUE(fresh.stream->complete());
      ASSERT_EQ(fresh.placed.epoch(epoch + 2), expected);

      // In the stream itself, whatever it has done since.
      first.placed.drain(5);
      ASSERT_TRUE(first.placed.restore(epoch, position));
      ASSERT_EQ(first.placed.drain(), rest) << stop;
      ASSERT_EQ(first.placed.epoch(epoch + 1), expected);
    }
  }
}

}  // namespace
}  // namespace plimsoll::data
