// Gathers, sums over equal indices and one-hots.
#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {
namespace {

using Sizes = std::vector<std::int64_t>;

DType index_dtype(Draws& draw) {
  return draw.one_of({DType::i32, DType::i32, DType::i64, DType::i64, DType::i8,
                      DType::i16, DType::u8, DType::u16, DType::u32});
}

// All inside, around the axis, few of them, or anywhere.
Range indices_of(Draws& draw, DType dtype, std::int64_t extent) {
  const bool is_signed = dtype >= DType::i8 && dtype <= DType::i64;
  const double most = std::min<double>(double(extent), 100);
  const double rows = size_of(dtype) > 1 ? double(extent) : most;
  switch (draw.between(0, 4)) {
    case 0:
      return {is_signed ? -rows - 2 : 0, rows + 3, true};
    case 1:
      return {0, std::min(2.0, std::max(0.0, rows - 1)), true};
    case 2:
      if (size_of(dtype) >= 4) return {is_signed ? -2e9 : 0, 2e9, true};
      [[fallthrough]];
    default:
      return {0, std::max(0.0, rows - 1), true};
  }
}

// The table's axes with one of them replaced by the indices'.
Sizes replaced(const Sizes& table, std::int64_t axis, const Sizes& indices) {
  Sizes made(table.begin(), table.begin() + axis);
  made.insert(made.end(), indices.begin(), indices.end());
  made.insert(made.end(), table.begin() + axis + 1, table.end());
  return made;
}

void add_rows(std::vector<OpRecord>& records, Draws& draw, int number) {
  const auto rank = static_cast<int>(draw.between(1, 4));
  const std::int64_t most = draw.some_or(20'000, 200'000);
  const Sizes table = draw.extents(rank, most);
  const std::int64_t axis = draw.between(0, rank - 1);
  const std::int64_t extent = table[static_cast<std::size_t>(axis)];
  std::int64_t others = 1;
  for (const std::int64_t size : replaced(table, axis, {})) {
    others *= std::max<std::int64_t>(1, size);
  }
  const Sizes indices =
      draw.extents(static_cast<int>(draw.between(0, 3)),
                   std::max<std::int64_t>(2, 2 * most / others));
  const DType dtype = index_dtype(draw);
  const Range range = indices_of(draw, dtype, extent);
  const bool from_end = draw.one_in(2);
  const graph::TensorType picked{DType::f32,
                                 to_shape(replaced(table, axis, indices))};

  OpRecord gather = indexing_record(
      "gather_" + draw.name(number), "gather",
      {{DType::f32, to_shape(table)}, {dtype, to_shape(indices)}},
      {{"axis", draw.one_in(2) ? axis : axis - rank}});
  gather.ranges[1] = range;
  if (!from_end) gather.attrs.set("from_end", false);
  if (draw.one_in(4)) gather.attrs.set("zeros", true);
  if (draw.one_in(4)) {
    gather.inputs[0].dtype =
        draw.one_of({DType::i8, DType::u16, DType::i32, DType::f64});
    gather.ranges[0].whole_numbers = true;
  }
  records.push_back(std::move(gather));

  OpRecord scatter =
      indexing_record("scatter_add_" + draw.name(number), "scatter_add",
                      {picked, {dtype, to_shape(indices)}},
                      {{"axis", axis}, {"extent", extent}});
  scatter.ranges = {{-1, 1}, range};
  // Thousands of one row cancel.
  scatter.tolerance = to_shape(indices).elements() > 1'000 ? 1e-4 : 1e-5;
  if (!from_end) scatter.attrs.set("from_end", false);
  if (draw.one_in(2)) {
    scatter.inputs.push_back({DType::f32, to_shape(table)});
    scatter.ranges.push_back({-1, 1});
  }
  records.push_back(std::move(scatter));
}

void add_one_hot(std::vector<OpRecord>& records, Draws& draw, int number) {
  const DType dtype = index_dtype(draw);
  const Shape shape = draw.shape(static_cast<int>(draw.between(0, 3)),
                                 draw.some_or(300, 3'000));
  const std::int64_t depth = draw.extent(130);
  const DType made = draw.one_of(
      {DType::f32, DType::f64, DType::bf16, DType::f16, DType::u8, DType::i64});
  records.push_back(indexing_record(
      "one_hot_" + draw.name(number), "one_hot", {{dtype, shape}},
      {{"depth", depth}, {"dtype", std::string(name_of(made))}}));
  records.back().ranges = {indices_of(draw, dtype, depth)};
}

}  // namespace

std::vector<OpRecord> random_indexing(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    add_rows(records, draw, made);
    add_one_hot(records, draw, made);
  }
  return records;
}

std::vector<OpRecord> random_rankings(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const auto rank = static_cast<int>(draw.between(1, 4));
    Sizes extents = draw.extents(rank, draw.some_or(20'000, 200'000));
    const std::int64_t axis = draw.between(0, rank - 1);
    for (const std::int64_t needed : {axis, std::int64_t{rank - 1}}) {
      std::int64_t& extent = extents[static_cast<std::size_t>(needed)];
      extent = std::max<std::int64_t>(1, extent);
    }
    const DType dtype =
        draw.one_of({DType::f32, DType::f32, DType::f32, DType::f64, DType::i8,
                     DType::i32, DType::u8, DType::u32});
    const graph::TensorType type{dtype, to_shape(extents)};
    records.push_back(
        indexing_record("argmax_" + draw.name(made), "argmax", {type},
                        {{"axis", draw.one_in(2) ? axis : axis - rank},
                         {"keepdims", draw.one_in(2)}}));
    const std::int64_t k = draw.one_of<std::int64_t>(
        {1, extents.back(), draw.between(1, extents.back()),
         std::min<std::int64_t>(extents.back(), draw.between(1, 9))});
    records.push_back(
        indexing_record("topk_" + draw.name(made), "topk", {type}, {{"k", k}}));
    if (draw.one_in(2)) {  // ties everywhere
      for (std::size_t i = records.size() - 2; i < records.size(); ++i) {
        records[i].ranges[0] = {0, 3, true};
      }
    } else if (is_floating(dtype) && draw.one_in(2)) {
      const Range missing = draw.some_missing();
      for (std::size_t i = records.size() - 2; i < records.size(); ++i) {
        records[i].ranges[0] = missing;
      }
    }
    // One index a row, so that none is named twice.
    const std::int64_t width = extents.back();
    extents.back() = 1;
    records.push_back(indexing_record(
        "topk_grad_" + draw.name(made), "topk_grad",
        {{DType::f32, to_shape(extents)}, {DType::i64, to_shape(extents)}},
        {{"width", width}}));
    records.back().ranges[1] = {-1, static_cast<double>(width), true};
  }
  return records;
}

}  // namespace plimsoll::ops::testing
