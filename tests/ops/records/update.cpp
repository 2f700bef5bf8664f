#include "ops/update/update.h"

#include <algorithm>
#include <limits>

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

graph::Attrs attrs_of(UpdateRule rule) {
  const graph::Attrs rmsprop{
      {"rho", 0.9}, {"momentum", 0.8}, {"epsilon", 1e-7}};
  const graph::Attrs adam{
      {"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}};
  switch (rule) {
    case UpdateRule::sgd:
      return {};
    case UpdateRule::sgd_momentum:
    case UpdateRule::sgd_nesterov:
      return {{"momentum", 0.9}};
    case UpdateRule::adagrad:
      return {{"epsilon", 1e-7}};
    case UpdateRule::adam:
      return adam;
    case UpdateRule::adamw: {
      graph::Attrs adamw = adam;
      adamw.set("weight_decay", 0.01);
      return adamw;
    }
    default:
      return rmsprop;
  }
}

// States that such updates can have made.
Range range_of(UpdateRule rule, int state) {
  switch (rule) {
    case UpdateRule::adam:
    case UpdateRule::adamw:
      return state == 1 ? Range{0, 1} : Range{};  // a mean of squares
    case UpdateRule::adagrad:
      return {0.1, 2};
    case UpdateRule::rmsprop:
    case UpdateRule::rmsprop_momentum:
    case UpdateRule::rmsprop_centered:
    case UpdateRule::rmsprop_centered_momentum:
      return state == 0 ? Range{0.5, 1} : Range{-0.4, 0.4};
    default:
      return {};
  }
}

OpRecord update(const std::string& suffix, const UpdateForm& form,
                const Shape& shape) {
  OpRecord record;
  record.name = std::string(form.op) + suffix;
  record.op = op_named(form.op);
  record.attrs = attrs_of(form.rule);
  record.inputs.assign(static_cast<std::size_t>(form.rate()),
                       {DType::f32, shape});
  record.ranges = {{-1, 1}, {-1, 1}};
  for (int k = 0; k < form.states; ++k) {
    record.ranges.push_back(range_of(form.rule, k));
  }
  record.inputs.push_back({DType::f32, Shape{}});
  record.ranges.push_back({0.001, 0.1});
  if (form.step) {
    record.inputs.push_back({DType::i64, Shape{}});
    record.ranges.push_back({1, 2000, true});
  }
  record.tolerance = 2e-6;
  return record;
}

}  // namespace

std::vector<OpRecord> update_records() {
  std::vector<OpRecord> records;
  // A scalar, less than a vector, odd rests, and enough to be split.
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"scalar", Shape{}},
      {"5", Shape{5}},
      {"3x43", Shape{3, 43}},
      {"split", Shape{129, 257}}};
  for (const auto& [name, shape] : shapes) {
    for (const UpdateForm& form : kUpdateForms) {
      records.push_back(update("_" + name, form, shape));
    }
  }
  OpRecord young =
      update("_first_step", update_form(UpdateRule::adam), Shape{40});
  // The first step after zero moments: the corrections are largest.
  young.ranges[2] = {0, 0};
  young.ranges[3] = {0, 0};
  young.ranges[5] = {1, 1, true};
  records.push_back(young);

  // An open and a closed gate; behind a closed one gradients may be anything.
  for (const double gate : {0x1p-15, 0.0}) {
    for (const auto& named : shapes) {
      const std::string suffix =
          (gate == 0 ? "_closed_" : "_gated_") + named.first;
      for (const UpdateForm& form : kUpdateForms) {
        OpRecord record = update(suffix, form, named.second);
        record.inputs.push_back({DType::f32, Shape{}});
        record.ranges.push_back({gate, gate});
        const double most =
            gate == 0 ? std::numeric_limits<double>::infinity() : 0x1p15;
        record.ranges[1] = {gate == 0 ? most : -most, most};
        records.push_back(std::move(record));
      }
    }
  }
  for (const auto& [name, shape] : shapes) {
    OpRecord finite;
    finite.name = "all_finite_" + name;
    finite.op = op_named("all_finite");
    finite.inputs = {{DType::f32, shape}};
    finite.ranges = {{-65000, 65000}};
    records.push_back(finite);
    finite.name += "_not";
    finite.ranges = {{std::numeric_limits<double>::quiet_NaN(), 0}};
    records.push_back(finite);
  }
  OpRecord parts;
  parts.name = "all_finite_parts";
  parts.op = op_named("all_finite");
  parts.inputs = {{DType::f32, {331, 333}}};
  records.push_back(parts);
  for (const double finite : {0.0, 1.0}) {
    for (const std::int64_t good : {0, 4}) {
      for (const double scale : {1.0, 32768.0, 16777216.0}) {
        OpRecord step;
        step.name = "scale_step_" + std::to_string(int(finite)) + "_" +
                    std::to_string(good) + "_" + std::to_string(int(scale));
        step.op = op_named("scale_step");
        step.inputs = {{DType::f32, Shape{}},
                       {DType::i64, Shape{}},
                       {DType::i64, Shape{}},
                       {DType::f32, Shape{}}};
        step.ranges = {{scale, scale},
                       {double(good), double(good), true},
                       {7, 7, true},
                       {finite, finite}};
        step.attrs = {{"growth_steps", std::int64_t{5}}};
        records.push_back(std::move(step));
      }
    }
  }

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
