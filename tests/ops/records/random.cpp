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

  // Sizes around the groups of 64, several chunks, no elements.
  const auto add_fills = [&](const std::string& name, Shape shape, double low,
                             double high, std::int64_t seed, double step_high,
                             std::string dtype) {
    OpRecord record;
    record.inputs = {{DType::i64, {}}};
    record.ranges = {{0, step_high, true}};
    record.attrs = {{"shape", std::move(shape)},
                    {"dtype", std::move(dtype)},
                    {"seed", seed},
                    {"op_id", std::int64_t{3}}};
    for (const std::string kind : {"uniform", "normal"}) {
      record.name = "random_" + kind + "_" + name;
      record.op = find_op("random_" + kind);
      OpRecord one = record;
      one.attrs.set(kind == "uniform" ? "low" : "mean", low);
      one.attrs.set(kind == "uniform" ? "high" : "deviation", high);
      one.tolerance = kind == "uniform" ? 1e-6 : 1e-5;
      records.push_back(std::move(one));
    }
  };
  for (const char* dtype : {"f32", "f64", "bf16", "f16"}) {
    add_fills(std::string("rows_") + dtype, {5, 43}, -0.5, 1.5, 1, 100, dtype);
    add_fills(std::string("unit_") + dtype, {64}, 0, 1, -7, 1e12, dtype);
    add_fills(std::string("chunks_") + dtype, {3, 11003}, 0, 2.5, 9, 100,
              dtype);
  }
  add_fills("scalar", {}, -3, 4, 5, 10, "f32");
  add_fills("one_more", {65}, 10, 11, 5, 10, "f32");
  add_fills("none", {0, 7}, 0, 1, 5, 10, "f32");
  return records;
}

}  // namespace plimsoll::ops::testing
