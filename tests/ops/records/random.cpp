#include "ops/op_record.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_records() {
  std::vector<OpRecord> records;
  const auto add = [&](std::string name, Shape shape, double rate,
                       std::int64_t seed, std::int64_t op_id,
                       double step_high) {
    OpRecord record;
    record.name = std::move(name);
    record.op = find_op("dropout");
    record.inputs = {{DType::f32, std::move(shape)}, {DType::i64, {}}};
    record.attrs = {{"rate", rate}, {"seed", seed}, {"op_id", op_id}};
    record.ranges = {{-1, 1}, {0, step_high, true}};
    record.tolerance = 1e-6;
    record.gradient_of = {0};
    records.push_back(std::move(record));
  };
  add("dropout_half", {8, 16}, 0.5, 1, 0, 100);
  add("dropout_none", {5, 13}, 0.0, 1, 0, 100);
  add("dropout_most", {3, 43}, 0.9, -7, 3, 1e12);
  add("dropout_scalar", {}, 0.25, 5, 1, 10);
  add("dropout_chunks", {33000}, 0.2, 1, 1, 100);
  records.back().gradient_of.clear();
  return records;
}

}  // namespace plimsoll::ops::testing
