#include "ops/update/update.h"

#include <algorithm>
#include <limits>

#include "ops/op_record.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {
namespace {

const graph::OpDef* op_named(std::string_view name) {
  const auto all = update_ops();
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const graph::OpDef* op) { return op->name == name; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace

graph::Attrs update_attrs(UpdateRule rule) {
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
    case UpdateRule::lamb:
    case UpdateRule::adamw: {
      graph::Attrs adamw = adam;
      adamw.set("weight_decay", 0.01);
      return adamw;
    }
    default:
      return rmsprop;
  }
}

namespace {

// States that such updates can have made.
Range range_of(UpdateRule rule, int state) {
  switch (rule) {
    case UpdateRule::adam:
    case UpdateRule::adamw:
    case UpdateRule::lamb:
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

}  // namespace

OpRecord update_record(const std::string& suffix, const UpdateForm& form,
                       const Shape& shape) {
  OpRecord record;
  record.name = std::string(form.op) + suffix;
  record.op = op_named(form.op);
  record.attrs = update_attrs(form.rule);
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

namespace {

// Before, at and behind what a schedule changes at.
std::vector<OpRecord> step_function_records() {
  const graph::Attrs decay{{"initial_learning_rate", 0.5},
                           {"decay_steps", 10.0},
                           {"decay_rate", 0.75},
                           {"end_learning_rate", 0.01},
                           {"power", 2.0},
                           {"alpha", 0.1},
                           {"boundaries", std::vector<double>{4, 10}},
                           {"values", std::vector<double>{0.5, 0.25, 0.125}}};
  std::vector<std::pair<std::string, graph::Attrs>> functions;
  const auto add = [&](const std::string& function, const std::string& suffix,
                       const std::string& key, graph::Attr value) {
    graph::Attrs attrs = decay;
    attrs.set("function", function);
    attrs.set(key, std::move(value));
    functions.emplace_back(function + suffix, std::move(attrs));
  };
  add("power", "", "exponent", -0.8);
  for (const bool on : {false, true}) {
    const std::string suffix = on ? "_on" : "";
    add("exponential_decay", suffix, "staircase", on);
    add("inverse_time_decay", suffix, "staircase", on);
    add("polynomial_decay", suffix, "cycle", on);
    add("cosine_decay", suffix, "warmup_target", on ? 0.75 : 0.0);
    if (on) functions.back().second.set("warmup_steps", 4.0);
  }
  add("piecewise_constant", "", "power", 1.0);
  std::vector<OpRecord> records;
  for (const auto& [name, attrs] : functions) {
    for (const double step : {0, 1, 3, 4, 5, 9, 10, 11, 14, 20, 1000}) {
      OpRecord record;
      record.name = "step_function_" + name + "_" + std::to_string(int(step));
      record.op = op_named("step_function");
      record.inputs = {{DType::i64, Shape{}}};
      record.ranges = {{step, step, true}};
      record.attrs = attrs;
      record.attrs.set("dtype", std::string("f64"));
      records.push_back(record);
    }
    records.back().name += "_f32";
    records.back().attrs.set("dtype", std::string("f32"));
    records.back().tolerance = 1e-6;
  }
  return records;
}

}  // namespace

std::vector<OpRecord> update_records() {
  std::vector<OpRecord> records = step_function_records();
  // A scalar, less than a vector, odd rests, and enough to be split.
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"scalar", Shape{}},
      {"5", Shape{5}},
      {"3x43", Shape{3, 43}},
      {"split", Shape{129, 257}}};
  for (const auto& [name, shape] : shapes) {
    for (const UpdateForm& form : kUpdateForms) {
      records.push_back(update_record("_" + name, form, shape));
    }
  }
  OpRecord young =
      update_record("_first_step", update_form(UpdateRule::adam), Shape{40});
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
        OpRecord record = update_record(suffix, form, named.second);
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
