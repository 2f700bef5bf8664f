#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_reductions(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const auto rank = draw.between(0, 5);
    const Shape shape =
        draw.shape(static_cast<int>(rank), draw.one_in(20) ? 300'000 : 30'000);
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (draw.one_in(2)) axes.push_back(draw.one_in(3) ? axis - rank : axis);
    }
    std::shuffle(axes.begin(), axes.end(), draw.engine());
    OpRecord record;
    const auto op = draw.one_of<std::string_view>(
        {"reduce_sum", "reduce_mean", "reduce_max"});
    record.name = fmt::format("{}_{}", op, draw.name(made));
    record.op = find_op(op);
    record.inputs = {{DType::f32, shape}};
    record.attrs = {{"axes", axes}, {"keepdims", draw.one_in(2)}};
    // Long sums of both signs cancel.
    if (shape.elements() > 2'000) record.ranges = {{0, 1}};
    if (op == "reduce_max" && draw.one_in(3)) {
      record.ranges = {draw.some_missing()};
    }
    if (op == "reduce_sum" && draw.one_in(3)) {
      record.inputs[0].dtype = draw.one_of({DType::bf16, DType::f16});
      record.attrs.set("out", std::string("f32"));
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace plimsoll::ops::testing
