// Dropout and random fills.
#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_numbers(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const auto shape = [&] {
      return draw.shape(static_cast<int>(draw.between(0, 4)),
                        draw.one_in(8) ? 60'000 : 3'000);
    };
    const double step = draw.one_of({0.0, 100.0, 1e12});
    OpRecord record;
    record.name = "dropout_" + draw.name(made);
    record.op = find_op("dropout");
    record.inputs = {{DType::f32, shape()}, {DType::i64, {}}};
    record.attrs = {{"rate", draw.one_of({0.0, 0.1, 0.5, 0.9, 0.999})},
                    {"seed", draw.between(-1'000'000, 1'000'000)},
                    {"op_id", draw.between(0, 70)}};
    record.ranges = {{-1, 1}, {0, step, true}};
    record.tolerance = 1e-6;
    records.push_back(record);

    record.inputs = {{DType::i64, {}}};
    record.ranges = {{0, step, true}};
    record.attrs.set("shape", shape());
    record.attrs.set("dtype",
                     draw.one_of<std::string>({"f32", "f64", "bf16", "f16"}));
    record.name = "random_uniform_" + draw.name(made);
    record.op = find_op("random_uniform");
    record.attrs.set("low", -0.5);
    record.attrs.set("high", draw.one_of({-0.25, 0.5, 3.0}));
    records.push_back(record);
    record.name = "random_normal_" + draw.name(made);
    record.op = find_op("random_normal");
    record.attrs.set("mean", draw.one_of({0.0, 1.5}));
    record.attrs.set("deviation", draw.one_of({0.0, 0.02, 2.5}));
    record.tolerance = 1e-5;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace plimsoll::ops::testing
