#include "ops/update/update.h"

#include <algorithm>

#include "ops/op_record.h"

namespace plimsoll::ops::testing {
namespace {

const graph::OpDef* op_named(std::string_view name) {
  const auto all = update_ops();
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const graph::OpDef* op) { return op->name == name; });
  return found == all.end() ? nullptr : *found;
}

// `tensors` of the parameter's type, a rate and perhaps a step.
OpRecord update(std::string name, std::string_view op, const Shape& shape,
                int tensors, graph::Attrs attrs) {
  OpRecord record;
  record.name = std::move(name);
  record.op = op_named(op);
  record.attrs = std::move(attrs);
  record.inputs.assign(static_cast<std::size_t>(tensors), {DType::f32, shape});
  record.ranges.assign(static_cast<std::size_t>(tensors), {-1, 1});
  record.inputs.push_back({DType::f32, Shape{}});
  record.ranges.push_back({0.001, 0.1});
  if (tensors == 4) {
    record.ranges[3] = {0, 1};  // a mean of squares
    record.inputs.push_back({DType::i64, Shape{}});
    record.ranges.push_back({1, 2000, true});
  }
  record.tolerance = 2e-6;
  return record;
}

}  // namespace

std::vector<OpRecord> update_records() {
  std::vector<OpRecord> records;
  const graph::Attrs adam{
      {"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}};
  graph::Attrs adamw = adam;
  adamw.set("weight_decay", 0.01);
  // A scalar, less than a vector, odd rests, and enough to be split.
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"scalar", Shape{}},
      {"5", Shape{5}},
      {"3x43", Shape{3, 43}},
      {"split", Shape{129, 257}}};
  for (const auto& [name, shape] : shapes) {
    records.push_back(update("sgd_" + name, "sgd", shape, 2, {}));
    records.push_back(update("sgd_momentum_" + name, "sgd_momentum", shape, 3,
                             {{"momentum", 0.9}}));
    records.push_back(update("adam_" + name, "adam", shape, 4, adam));
    records.push_back(update("adamw_" + name, "adamw", shape, 4, adamw));
  }
  OpRecord young = update("adam_first_step", "adam", Shape{40}, 4, adam);
  // The first step after zero moments: the corrections are largest.
  young.ranges[2] = {0, 0};
  young.ranges[3] = {0, 0};
  young.ranges[5] = {1, 1, true};
  records.push_back(young);

  OpRecord increment;
  increment.name = "increment";
  increment.op = op_named("increment");
  increment.inputs = {{DType::i64, Shape{}}};
  increment.ranges = {{0, 1000, true}};
  records.push_back(increment);
  for (const DType dtype : {DType::f32, DType::f64}) {
    OpRecord accumulate;
    accumulate.name = std::string("accumulate_") + std::string(name_of(dtype));
    accumulate.op = op_named("accumulate");
    accumulate.inputs = {{DType::f64, Shape{}}, {dtype, Shape{}}};
    records.push_back(accumulate);
  }
  return records;
}

}  // namespace plimsoll::ops::testing
