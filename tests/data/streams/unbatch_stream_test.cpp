#include "data/streams/unbatch_stream.h"

#include "data/maps/pad.h"
#include "data/streams/error_skipping.h"
#include "data/streams/map_stream.h"
#include "data/streams/stream_fixture.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(UnbatchStream, RowsOfOneShape) {
  auto workers = taken(Workers::create(0));
  // Element i has the value i, i % 4 times, and -1 up to 4 of them.
  std::vector<std::shared_ptr<Map>> maps;
  maps.push_back(pad({{}, {4}, -1}));
  auto padded = map_stream(numbered(3, 0, true), std::move(maps), *workers, {});
  Placed flat(unbatch_stream(taken(std::move(padded))));
  EXPECT_EQ(flat->count(), 12);
  EXPECT_EQ(flat->spec()[0], fixed_field("x", DType::i64, {}));
  const auto rows = flat.epoch(0);
  EXPECT_EQ(firsts(rows), (Numbers{-1, -1, -1, -1, 1, -1, -1, -1, 2, 2, -1,  //
                                   -1}));
  EXPECT_EQ(rows[9].shapes[0], Extents{});
  EXPECT_EQ(rows[9].index, 2 * 4 + 1);
  EXPECT_FALSE(unbatch_stream(numbered(3)));
}

TEST(UnbatchStream, OfElementsWithoutRows) {
  Placed flat(unbatch_stream(numbered(6, 0, true)));
  EXPECT_EQ(flat->count(), kUnknownCount);
  EXPECT_EQ(firsts(flat.epoch(0)), (Numbers{1, 2, 2, 3, 3, 3, 5}));
}

TEST(UnbatchStream, ABadElementCostsNoOther) {
  ErrorPolicy policy;
  policy.skip = true;
  auto input = numbered(6, 0, true);
  input->bad = {2};
  Placed flat(
      skip_errors_stream(taken(unbatch_stream(std::move(input))), policy));
  EXPECT_EQ(firsts(flat.epoch(0)), (Numbers{1, 3, 3, 3, 5}));
  EXPECT_EQ(policy.skipped, 1);
}

}  // namespace
}  // namespace plimsoll::data
