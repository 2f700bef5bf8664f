// Kernels against NumPy's results in float64: numpy/make_references.py wrote
// the cases, and shares no code with our own references.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/harness.h"
#include "ops/registry.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

using nlohmann::json;

constexpr const char* kFamilies[] = {
    "elementwise", "movement",  "matmul",      "reduction",
    "softmax",     "loss",      "random",      "update",
    "indexing",    "resize",    "embedding",   "normalization",
    "pooling",     "recurrent", "convolution", "attention"};

json read_cases(const std::string& family) {
  std::ifstream file(fmt::format("{}/{}.json", PLIMSOLL_NUMPY_CASES, family));
  return json::parse(file);
}

Shape shape_of(const json& extents) {
  std::vector<Dim> dims;
  for (const json& extent : extents) {
    dims.emplace_back(extent.get<std::int64_t>());
  }
  return Shape(std::move(dims));
}

RefTensor read_tensor(const json& item, bool in_f64) {
  const auto name = item["dtype"].get<std::string>();
  const bool follows = name == "f32" || name == "float";
  RefTensor tensor;
  tensor.type.dtype =
      follows ? (in_f64 ? DType::f64 : DType::f32) : *parse_dtype(name);
  tensor.type.shape = shape_of(item["shape"]);
  for (const json& value : item["values"]) {
    tensor.values.push_back(value.is_null()
                                ? std::numeric_limits<double>::quiet_NaN()
                                : value.get<double>());
  }
  return tensor;
}

// Codes go by name, so that the files survive a new code in the middle.
graph::Attrs expression_attrs(const json& item, std::size_t inputs) {
  graph::ElementwiseExpression expression;
  expression.inputs = static_cast<int>(inputs);
  for (const json& step : item["steps"]) {
    for (int code = 0; code < graph::kElementwiseCodes; ++code) {
      const auto candidate = static_cast<graph::ElementwiseCode>(code);
      if (graph::name_of(candidate) != step[0].get<std::string>()) continue;
      expression.instructions.push_back(
          {candidate, step[1].get<int>(), step[2].get<int>(),
           step[3].get<double>(), step.size() > 4 ? step[4].get<int>() : -1});
    }
  }
  expression.results = item["results"].get<std::vector<int>>();
  return graph::to_attrs(expression);
}

graph::Attrs attrs_of(const json& item, bool in_f64) {
  graph::Attrs attrs;
  for (const auto& [name, typed] : item["attrs"].items()) {
    if (name == "expression") {
      return expression_attrs(typed, item["inputs"].size());
    }
    const std::string kind = typed.begin().key();
    const json& value = typed.begin().value();
    if (kind == "bool") attrs.set(name, value.get<bool>());
    if (kind == "int") attrs.set(name, value.get<std::int64_t>());
    if (kind == "double") attrs.set(name, value.get<double>());
    if (kind == "string") attrs.set(name, value.get<std::string>());
    if (kind == "shape") attrs.set(name, shape_of(value));
    if (kind == "doubles") attrs.set(name, value.get<std::vector<double>>());
    if (kind == "ints") {
      attrs.set(name, value.get<std::vector<std::int64_t>>());
    }
  }
  if (in_f64 && item["op"] == "constant") {
    attrs.set("dtype", std::string("f64"));
  }
  return attrs;
}

void check_case(const json& item, bool in_f64, ComputeThreads& threads) {
  const auto name = item["name"].get<std::string>();
  const graph::OpDef* op = find_op(item["op"].get<std::string>());
  ASSERT_NE(op, nullptr) << name;
  std::vector<RefTensor> inputs;
  std::vector<RefTensor> wanted;
  for (const json& input : item["inputs"]) {
    inputs.push_back(read_tensor(input, in_f64));
  }
  for (const json& output : item["outputs"]) {
    wanted.push_back(read_tensor(output, in_f64));
  }
  const auto got = run_op(*op, attrs_of(item, in_f64), inputs, threads);
  ASSERT_TRUE(got.ok()) << name << ": " << got.error().message;
  ASSERT_EQ(got->size(), wanted.size()) << name;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ((*got)[i].type.shape, wanted[i].type.shape) << name;
  }
  const bool exact = (*got)[0].type.dtype == DType::f64;
  const double tolerance = exact ? 1e-12 : item["tolerance"].get<double>();
  for (const std::string& mistake :
       compare(fmt::format("op {}, case {}", op->name, name), *got, wanted,
               tolerance)) {
    ADD_FAILURE() << mistake;
  }
}

TEST(NumPy, KernelsInF32Agree) {
  ComputeThreads threads(2);
  for (const char* family : kFamilies) {
    for (const json& item : read_cases(family)) {
      check_case(item, false, threads);
    }
  }
}

TEST(NumPy, KernelsInF64Agree) {
  ComputeThreads threads(2);
  for (const char* family : kFamilies) {
    for (const json& item : read_cases(family)) {
      check_case(item, true, threads);
    }
  }
}

TEST(NumPy, EveryOpHasACase) {
  std::set<std::string> covered;
  for (const char* family : kFamilies) {
    for (const json& item : read_cases(family)) {
      covered.insert(item["op"].get<std::string>());
    }
  }
  for (const graph::OpDef* op : all_ops()) {
    EXPECT_TRUE(covered.contains(std::string(op->name))) << op->name;
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
