// batch, padded_batch and unbatch.
#include "data/streams/batch_stream.h"
#include "data/streams/error_skipping.h"
#include "data/streams/padded_batch_stream.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/unbatch_stream.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(BatchStream, WithAndWithoutRemainder) {
  Placed whole(batch_stream(numbered(7), 3, true));
  EXPECT_EQ(whole->count(), 2);
  EXPECT_EQ(whole->spec()[0].shape, (Extents{3}));
  const std::vector<Row> two = {{0, {{3}}, {{0, 1, 2}}},
                                {3, {{3}}, {{3, 4, 5}}}};
  EXPECT_EQ(whole.epoch(0), two);
  Placed all(batch_stream(numbered(7), 3, false));
  EXPECT_EQ(all->count(), 3);
  EXPECT_EQ(all->spec()[0].shape, (Extents{kVaries}));
  auto three = two;
  three.push_back({6, {{1}}, {{6}}});
  EXPECT_EQ(all.epoch(0), three);
  EXPECT_EQ(all->spec()[0].most_bytes, 24);
  // Every batch is known to be whole.
  EXPECT_EQ(Placed(batch_stream(numbered(6), 3, false))->spec()[0].shape,
            (Extents{3}));
  EXPECT_FALSE(batch_stream(numbered(6), 0, false));
  EXPECT_FALSE(batch_stream(numbered(6), std::int64_t{1} << 61, false));
}

TEST(BatchStream, RaggedNamesTheElement) {
  Placed ragged(batch_stream(numbered(8, 0, true), 3, false));
  ASSERT_TRUE(ragged->start(0));
  Element element;
  const auto failed = ragged->next(element);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("element 1 (numbers from 0"),
            std::string::npos);
  EXPECT_NE(failed.error().message.find("ragged batch"), std::string::npos)
      << failed.error().message;
}

TEST(BatchStream, ABadElementCostsNoOther) {
  ErrorPolicy policy;
  policy.skip = true;
  auto input = numbered(8);
  input->bad = {1, 5};
  Placed batches(skip_errors_stream(
      taken(batch_stream(std::move(input), 3, false)), policy));
  const std::vector<Row> rows = {{0, {{3}}, {{0, 2, 3}}},
                                 {4, {{3}}, {{4, 6, 7}}}};
  EXPECT_EQ(batches.epoch(0), rows);
  EXPECT_EQ(policy.skipped, 2);
}

TEST(BatchStream, APositionBehindAnErrorHasTheElementsBeforeIt) {
  auto input = numbered(8);
  input->bad = {1};
  Placed batches(batch_stream(std::move(input), 3, false));
  ASSERT_TRUE(batches->start(0));
  Element element;
  ASSERT_FALSE(batches->next(element));
  const auto position = batches.saved();
  Placed again(batch_stream(numbered(8), 3, false));
  ASSERT_TRUE(again.restore(0, position));
  EXPECT_EQ(again.drain(1)[0].values[0], (Numbers{0, 1, 2}));
}

TEST(PaddedBatchStream, ToTheLongestOfTheBatch) {
  PaddedBatchOptions options;
  options.elements = 3;
  options.values = {-1};
  Placed padded(padded_batch_stream(numbered(8, 0, true), options));
  const std::vector<Row> rows = {
      {0, {{3, 2}}, {{-1, -1, 1, -1, 2, 2}}},
      {3, {{3, 3}}, {{3, 3, 3, -1, -1, -1, 5, -1, -1}}},
      {6, {{2, 3}}, {{6, 6, -1, 7, 7, 7}}}};
  EXPECT_EQ(padded.epoch(0), rows);
  EXPECT_EQ(padded->spec()[0].most_bytes, 3 * 24);
}

TEST(PaddedBatchStream, ToAGivenShape) {
  PaddedBatchOptions options;
  options.elements = 4;
  options.shapes = {{4}};
  Placed padded(padded_batch_stream(numbered(4, 0, true), options));
  EXPECT_EQ(padded->spec()[0].shape, (Extents{4, 4}));
  EXPECT_EQ(padded.epoch(0)[0].values[0],
            (Numbers{0, 0, 0, 0, 1, 0, 0, 0, 2, 2, 0, 0, 3, 3, 3, 0}));
  options.shapes = {{2}};
  Placed narrow(padded_batch_stream(numbered(4, 0, true), options));
  ASSERT_TRUE(narrow->start(0));
  Element element;
  const auto failed = narrow->next(element);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("element 3"), std::string::npos);
  EXPECT_NE(failed.error().message.find("cannot be padded to [2]"),
            std::string::npos)
      << failed.error().message;
}

TEST(PaddedBatchStream, SeveralAxes) {
  // Batches of 2 elements of [i % 4], padded to [2, longest], padded again.
  PaddedBatchOptions inner;
  inner.elements = 2;
  inner.values = {-1};
  PaddedBatchOptions outer;
  outer.elements = 2;
  outer.values = {-2};
  auto stream = taken(padded_batch_stream(numbered(4, 0, true), inner));
  EXPECT_FALSE(padded_batch_stream(
      taken(padded_batch_stream(numbered(3, 0, true), inner)), outer))
      << "two axes vary";
  outer.shapes = {{3, 4}};
  Placed padded(padded_batch_stream(std::move(stream), outer));
  EXPECT_EQ(padded.epoch(0)[0].values[0],
            (Numbers{-1, -2, -2, -2, 1, -2, -2, -2, -2, -2, -2, -2,
                     2,  2,  -1, -2, 3, 3,  3,  -2, -2, -2, -2, -2}));
}

TEST(UnbatchStream, UndoesABatch) {
  Placed flat(unbatch_stream(taken(batch_stream(numbered(7), 3, false))));
  const auto rows = flat.epoch(0);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(firsts(rows), (Numbers{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rows[0].shapes[0], Extents{});
  EXPECT_EQ(flat->spec()[0].most_bytes, 8);
  EXPECT_EQ(rows[4].index, 3 * 3 + 1);
  EXPECT_FALSE(unbatch_stream(numbered(3)));
}

TEST(UnbatchStream, OfElementsWithoutRows) {
  Placed flat(unbatch_stream(numbered(6, 0, true)));
  EXPECT_EQ(firsts(flat.epoch(0)), (Numbers{1, 2, 2, 3, 3, 3, 5}));
}

}  // namespace
}  // namespace plimsoll::data
