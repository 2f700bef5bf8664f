#include "ops/op_record.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

using Axes = std::vector<std::int64_t>;

OpRecord reduction(std::string name, std::string_view op, Shape shape,
                   Axes axes, bool keepdims = false) {
  OpRecord record;
  record.name = std::move(name);
  record.op = find_op(op);
  record.inputs = {{DType::f32, std::move(shape)}};
  record.attrs = {{"axes", std::move(axes)}, {"keepdims", keepdims}};
  record.gradient_of = {0};
  return record;
}

}  // namespace

std::vector<OpRecord> reduction_records() {
  std::vector<OpRecord> records;
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    const auto add = [&](const std::string& name, Shape shape, Axes axes,
                         bool keepdims = false) {
      records.push_back(reduction(op + "_" + name, op, std::move(shape),
                                  std::move(axes), keepdims));
    };
    add("scalar", {}, {});
    add("all", {7, 5, 3}, {});
    add("all_kept", {7, 5}, {}, true);
    add("rows", {9, 37}, {1});
    add("rows_long", {3, 700}, {-1}, true);
    add("columns", {32, 128}, {0});
    add("columns_uneven", {131, 21}, {0});
    add("columns_wide", {5, 1100}, {0}, true);
    add("middle", {4, 6, 5}, {1});
    add("outer_and_inner", {4, 3, 70}, {0, 2});
    add("outer_and_third", {3, 4, 5, 6}, {0, 2});
    add("second_and_last", {3, 4, 2, 5}, {1, -1}, true);
    add("extent_one", {6, 1}, {1});
    add("single_element", {1, 1}, {});
  }
  // NaN wins, wherever it stands.
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{}}) {
    records.push_back(
        reduction("reduce_max_some_nan_" + std::to_string(records.size()),
                  "reduce_max", {7, 90}, axes));
    records.back().gradient_of.clear();
    records.back().ranges = {{-1, 1, false, 0.02}};
  }
  // Large enough to be cut into parts and spread over threads; finite
  // differences over them would tell nothing new.
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    const auto add = [&](const std::string& name, Shape shape, Axes axes) {
      records.push_back(
          reduction(op + "_" + name, op, std::move(shape), std::move(axes)));
      records.back().gradient_of.clear();
      records.back().ranges = {{0, 1}};
    };
    add("parts_all", {200003}, {});
    add("parts_columns", {3001, 40}, {0});
    add("parts_wide", {130, 1030}, {0});
    add("many_rows", {2000, 50}, {1});
    add("long_rows", {3, 5000}, {1});
    add("many_long_rows", {300, 2048}, {1});
    add("many_short_rows", {3000, 6}, {1});
  }

  // Sums of bf16 and f16 that are not rounded to them.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto add = [&](const std::string& name, Shape shape, Axes axes) {
      OpRecord record =
          reduction("reduce_sum_" + std::string(name_of(dtype)) + "_" + name,
                    "reduce_sum", std::move(shape), std::move(axes));
      record.inputs[0].dtype = dtype;
      record.attrs.set("out", std::string("f32"));
      record.gradient_of.clear();
      records.push_back(std::move(record));
    };
    add("columns", {131, 1030}, {0});
    add("rows", {9, 5000}, {1});
    add("short_rows", {200, 7}, {1});
  }

  OpRecord divide;
  divide.name = "divide_by_count";
  divide.op = find_op("divide_by_count");
  divide.inputs = {{DType::f32, {5, 70}}};
  divide.attrs = {{"axes", Axes{1}}, {"shape", Shape{5, 12, 70}}};
  divide.gradient_of = {0};
  records.push_back(divide);
  return records;
}

}  // namespace plimsoll::ops::testing
