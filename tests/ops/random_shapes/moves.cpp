// Copies, transposes, casts, concatenations, splits, slices, paddings and
// expansions.
#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t most_elements(Draws& draw) {
  return draw.some_or(20'000, 300'000);
}

// One of each size and kind. f32 stands for what the test runs in.
DType any_dtype(Draws& draw) {
  return draw.one_of({DType::f32, DType::f32, DType::f32, DType::f64,
                      DType::bf16, DType::f16, DType::i8, DType::u8, DType::i16,
                      DType::u16, DType::i32, DType::u32, DType::i64,
                      DType::u64, DType::boolean});
}

Range values_of(DType dtype) {
  return {0, dtype == DType::boolean ? 1.0 : 100.0, !is_floating(dtype)};
}

OpRecord move(const std::string& op, graph::TypeList inputs,
              graph::Attrs attrs) {
  OpRecord record;
  record.name = op;
  record.op = find_op(op);
  record.attrs = std::move(attrs);
  record.tolerance = 0;
  record.ranges.assign(inputs.size(), values_of(inputs[0].dtype));
  record.inputs = std::move(inputs);
  return record;
}

OpRecord transpose(Draws& draw) {
  const auto rank = draw.between(0, 6);
  Sizes perm;
  for (std::int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
  std::shuffle(perm.begin(), perm.end(), draw.engine());
  return move("transpose",
              {{any_dtype(draw),
                draw.shape(static_cast<int>(rank), most_elements(draw))}},
              {{"perm", perm}});
}

OpRecord cast(Draws& draw) {
  const DType to = any_dtype(draw);
  const auto rank = static_cast<int>(draw.between(0, 3));
  OpRecord record =
      move("cast", {{any_dtype(draw), draw.shape(rank, most_elements(draw))}},
           {{"dtype", std::string(name_of(to))}});
  // Beyond what the other dtype can hold, too.
  if (is_floating(record.inputs[0].dtype) && draw.one_in(2)) {
    record.ranges = {draw.one_of<Range>(
        {{-70'000, 70'000}, {-300, 300}, {-3e9, 3e9}, {-1, 1, false, 0.1}})};
  }
  return record;
}

OpRecord concat(Draws& draw) {
  const auto rank = static_cast<int>(draw.between(1, 5));
  const std::int64_t values =
      draw.one_in(6) ? draw.between(1, 64) : draw.between(1, 5);
  Sizes extents = draw.extents(rank, most_elements(draw) / values);
  const auto axis = static_cast<std::size_t>(draw.between(0, rank - 1));
  const std::int64_t most = std::max<std::int64_t>(1, extents[axis]);
  const DType dtype = any_dtype(draw);
  graph::TypeList inputs;
  for (std::int64_t i = 0; i < values; ++i) {
    extents[axis] = draw.one_in(20) ? 0 : draw.between(1, most);
    inputs.push_back({dtype, to_shape(extents)});
  }
  const auto named = static_cast<std::int64_t>(axis);
  return move("concat", std::move(inputs),
              {{"axis", draw.one_in(2) ? named : named - rank}});
}

OpRecord split(Draws& draw) {
  const auto rank = static_cast<int>(draw.between(1, 5));
  const Sizes extents = draw.extents(rank, most_elements(draw));
  const std::int64_t axis = draw.between(0, rank - 1);
  std::int64_t left = extents[static_cast<std::size_t>(axis)];
  const std::int64_t most = draw.one_of({left, draw.between(0, left)});
  Sizes sizes;
  while (left > 0 && sizes.size() < 63) {
    sizes.push_back(draw.between(0, std::min(left, most)));
    left -= sizes.back();
  }
  sizes.push_back(left);
  return move("split", {{any_dtype(draw), to_shape(extents)}},
              {{"axis", axis}, {"sizes", to_shape(sizes)}});
}

OpRecord slice(Draws& draw) {
  const auto rank = static_cast<int>(draw.between(0, 5));
  const Sizes extents = draw.extents(rank, most_elements(draw));
  Sizes starts, stops, steps;
  for (const std::int64_t extent : extents) {
    const bool whole = draw.one_in(3);
    starts.push_back(whole ? 0 : draw.between(-extent - 2, extent + 2));
    stops.push_back(whole ? extent : draw.between(-extent - 2, extent + 9));
    steps.push_back(draw.one_of<std::int64_t>({1, 1, 1, 2, 3, 50}));
  }
  if (draw.one_in(2)) steps.clear();
  return move("slice", {{any_dtype(draw), to_shape(extents)}},
              {{"starts", starts}, {"stops", stops}, {"steps", steps}});
}

OpRecord pad(Draws& draw) {
  const auto rank = static_cast<int>(draw.between(0, 5));
  const std::int64_t most = most_elements(draw);
  const Sizes extents = draw.extents(rank, most / 4);
  Sizes before, after, interior;
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    // Large paddings of every axis would multiply.
    const bool more = elements < most;
    before.push_back(more && draw.one_in(2) ? draw.between(0, 5) : 0);
    after.push_back(more && draw.one_in(2) ? draw.between(0, 5) : 0);
    interior.push_back(more && draw.one_in(3) ? draw.between(0, 3) : 0);
    elements *= std::max<std::int64_t>(
        1, before.back() + after.back() + extent * (1 + interior.back()));
  }
  if (draw.one_in(2)) interior.clear();
  return move("pad", {{any_dtype(draw), to_shape(extents)}},
              {{"before", before},
               {"after", after},
               {"value", draw.one_of({0.0, 1.0})},
               {"interior", interior}});
}

OpRecord expand(Draws& draw) {
  const auto rank = static_cast<int>(draw.between(0, 5));
  const Sizes made = draw.extents(rank, most_elements(draw));
  Sizes from(made.begin() + draw.between(0, rank), made.end());
  for (std::int64_t& extent : from) {
    if (draw.one_in(2)) extent = 1;
  }
  return move("expand", {{any_dtype(draw), to_shape(from)}},
              {{"shape", to_shape(made)}});
}

}  // namespace

std::vector<OpRecord> random_moves(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    for (const auto make :
         {transpose, cast, concat, split, slice, pad, expand}) {
      records.push_back(make(draw));
      records.back().name =
          fmt::format("{}_{}", records.back().name, draw.name(made));
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
