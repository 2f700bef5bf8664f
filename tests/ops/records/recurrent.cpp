#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/recurrent/recurrent_shape.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

void add_recurrent(std::vector<OpRecord>& records, const std::string& name,
                   RecurrentSizes sizes, bool differences) {
  for (const CellKind kind : {CellKind::lstm, CellKind::gru}) {
    const bool lstm = kind == CellKind::lstm;
    const std::string op = lstm ? "lstm" : "gru";
    const std::int64_t width = gates_of(kind) * sizes.hidden;
    const graph::TensorType states{DType::f32,
                                   {sizes.batch, sizes.steps, sizes.hidden}};
    const graph::TensorType gates{DType::f32,
                                  {sizes.batch, sizes.steps, width}};
    const graph::TensorType u{DType::f32, {sizes.hidden, width}};
    const double weight =
        sizes.hidden < 8 ? 1.0 : 4.0 / static_cast<double>(sizes.hidden);
    OpRecord record;
    record.name = op + "_" + name;
    record.op = find_op(op);
    record.inputs = {gates, u};
    record.ranges = {{-2, 2}, {-weight, weight}};
    if (!lstm) record.inputs.push_back({DType::f32, {width}});
    record.gradient_outputs = 1;
    if (differences) {
      record.gradient_of = lstm ? std::vector{0, 1} : std::vector{0, 1, 2};
    }
    records.push_back(record);

    record.name = op + "_grad_" + name;
    record.op = find_op(op + "_grad");
    record.gradient_of.clear();
    record.gradient_outputs = 0;
    if (lstm) {
      record.inputs = {states, u, states, gates};
      record.ranges = {{-1, 1}, {-weight, weight}, {-2, 2}, {0, 1}};
      record.wide_inputs = {2};  // cell states
    } else {
      record.inputs = {states, u, states, states, gates};
      record.ranges = {{-1, 1}, {-weight, weight}, {-1, 1}, {-2, 2}, {0, 1}};
    }
    records.push_back(record);
  }
}

std::vector<OpRecord> recurrent_records() {
  std::vector<OpRecord> records;
  const auto add = [&](const std::string& name, RecurrentSizes sizes,
                       bool differences = true) {
    add_recurrent(records, name, sizes, differences);
  };
  add("least", {1, 1, 1});
  add("one_step", {3, 1, 5});
  add("one_unit", {4, 6, 1});
  add("one_row", {1, 7, 6});
  add("odd", {5, 4, 7});
  add("even", {2, 5, 16});
  add("pieces", {3, 3, 65});
  add("rows", {19, 3, 24}, false);
  add("long", {2, 150, 9}, false);
  add("wide", {6, 4, 128}, false);
  add("uneven", {7, 3, 150}, false);
  // Few rows: cut by units on the CPU, the second from panels of the kernel,
  // and with more units than a block has threads.
  add("few_rows", {1, 3, 170}, false);
  add("many_units", {2, 3, 520}, false);
  add("many_rows", {601, 2, 10}, false);
  return records;
}

}  // namespace plimsoll::ops::testing
