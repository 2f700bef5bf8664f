#include "ops/op_record.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> softmax_records() {
  std::vector<OpRecord> records;
  const auto add = [&](std::string name, std::string_view op, Shape shape,
                       Range range) {
    OpRecord record;
    record.name = std::move(name);
    record.op = find_op(op);
    record.inputs = {{DType::f32, std::move(shape)}};
    record.ranges = {range};
    record.tolerance = 2e-6;
    if (op == "softmax") {
      record.gradient_of = {0};
    } else {
      record.inputs.push_back(record.inputs[0]);
      record.ranges.push_back({0, 1});
    }
    records.push_back(std::move(record));
  };
  add("softmax_vector", "softmax", {10}, {-3, 3});
  add("softmax_rows", "softmax", {32, 10}, {-5, 5});
  add("softmax_one_class", "softmax", {6, 1}, {-5, 5});
  add("softmax_blocks", "softmax", {4, 48}, {-5, 5});
  add("softmax_wide_range", "softmax", {7, 21}, {-200, 200});
  add("softmax_cube", "softmax", {3, 5, 17}, {-2, 2});
  add("softmax_many_rows", "softmax", {3000, 19}, {-4, 4});
  records.back().gradient_of.clear();
  add("softmax_long_rows", "softmax", {3, 1500}, {-4, 4});
  records.back().gradient_of.clear();
  // Far beyond what exp can hold; differences there are all zero or one.
  add("softmax_huge", "softmax", {8, 33}, {-1e4, 1e4});
  records.back().gradient_of.clear();
  add("softmax_grad_rows", "softmax_grad", {32, 10}, {-1, 1});
  add("softmax_grad_uneven", "softmax_grad", {5, 4, 53}, {-1, 1});
  add("softmax_grad_many_rows", "softmax_grad", {2500, 20}, {-1, 1});
  add("softmax_grad_long_rows", "softmax_grad", {3, 1500}, {-1, 1});
  return records;
}

}  // namespace plimsoll::ops::testing
