// Derivatives of every op that has a gradient: by tapes, beside differences.
// Where the ops of a gradient have none of their own, second derivatives are
// refused with an error that names one of them, and docs/0013 lists it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ops/all_records.h"
#include "ops/harness.h"
#include "ops/registry.h"
#include "ops/tensor_values.h"
#include "plimsoll/tape.h"
#include "plimsoll/tensor_math.h"
#include "runtime/eager/eager_fixture.h"

namespace plimsoll::runtime::testing {
namespace {

using ops::testing::Case;
using ops::testing::OpRecord;

constexpr double kStep = 1e-5;
constexpr std::size_t kMostElements = 4;  // of an input that are nudged

// What is multiplied with outputs and gradients: repeatable, and no number
// twice.
Tensor weighted_sum(const Tensor& value, int stream) {
  return sum(value *
             random_uniform(value.shape(), 17 + stream, -1, 1, DType::f64));
}

Tensor total(const std::vector<Tensor>& values, int stream) {
  Tensor all;
  for (const Tensor& value : values) {
    if (!is_floating(value.dtype())) continue;
    const Tensor part = weighted_sum(value, ++stream);
    all = all.defined() ? all + part : part;
  }
  return all;
}

std::vector<Tensor> sources_of(const Case& test,
                               const std::vector<Tensor>& inputs) {
  std::vector<Tensor> sources;
  for (const int index : test.record->gradient_of) {
    sources.push_back(inputs[static_cast<std::size_t>(index)]);
  }
  return sources;
}

// A number made of the op's outputs.
Tensor loss_of(const Case& test, const std::vector<Tensor>& inputs) {
  Values operands;
  for (const Tensor& input : inputs) operands.push_back(input.value());
  const auto made = dispatch(*test.record->op, operands, test.attrs);
  if (!made) throw std::runtime_error(made.error().message);
  std::vector<Tensor> outputs;
  for (const ValuePtr& value : *made) outputs.emplace_back(value);
  if (test.record->gradient_outputs > 0) {
    outputs.resize(static_cast<std::size_t>(test.record->gradient_outputs));
  }
  return total(outputs, 0);
}

// The inner product of that number's gradients and a direction.
Tensor slope_of(const Case& test, const std::vector<Tensor>& inputs) {
  const auto sources = sources_of(test, inputs);
  GradientTape tape;
  for (const Tensor& source : sources) tape.watch(source);
  return total(tape.gradient(loss_of(test, inputs), sources), 100);
}

using Number = Tensor (*)(const Case& test, const std::vector<Tensor>& inputs);

class Derivatives : public EagerTest {
 protected:
  std::vector<Tensor> tensors(const Case& test) const {
    std::vector<Tensor> made;
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      made.emplace_back(
          eager_
              ->from_bytes(test.inputs[i], ops::testing::encode(test.values[i]))
              .value());
    }
    return made;
  }

  double moved(Number number, const Case& test, std::size_t input,
               std::size_t element, double by) const {
    Case other = test;
    other.values[input].values[element] += by;
    return number(other, tensors(other)).item();
  }

  // The gradients of `number` beside its differences. Throws what the tape
  // refuses.
  void check(Number number, const Case& test) const {
    const auto inputs = tensors(test);
    const auto sources = sources_of(test, inputs);
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    const auto gradients = tape.gradient(number(test, inputs), sources);
    const double tolerance =
        std::max(1e-5, 10 * test.record->gradient_tolerance);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const auto input = static_cast<std::size_t>(test.record->gradient_of[k]);
      const auto size = static_cast<std::size_t>(sources[k].size());
      const std::vector<double> got = gradients[k].defined()
                                          ? gradients[k].to_doubles()
                                          : std::vector<double>(size);
      const std::size_t stride = std::max<std::size_t>(1, size / kMostElements);
      for (std::size_t i = 0; i < size; i += stride) {
        const double want = (moved(number, test, input, i, kStep) -
                             moved(number, test, input, i, -kStep)) /
                            (2 * kStep);
        EXPECT_NEAR(got[i], want, tolerance * (1 + std::abs(want)))
            << "record " << test.record->name << ", input " << input
            << ", element " << i;
      }
    }
  }

  // Calls `work` for each record that has a gradient, in f64.
  template <class F>
  static void for_each_case(F&& work) {
    for (const OpRecord& record : ops::testing::all_records()) {
      if (record.gradient_of.empty()) continue;
      const auto test = ops::testing::make_case(record, DType::f64);
      ASSERT_TRUE(test.ok()) << record.name;
      work(*test);
    }
  }
};

TEST_F(Derivatives, FirstOnesAgree) {
  for_each_case([&](const Case& test) {
    EXPECT_NO_THROW(check(loss_of, test)) << test.record->name;
  });
}

TEST_F(Derivatives, SecondOnesAgreeOrAreRefusedByName) {
  std::map<std::string, std::set<std::string>> refused;  // op, by what
  std::set<std::string> agree;
  for_each_case([&](const Case& test) {
    const std::string op(test.record->op->name);
    try {
      check(slope_of, test);
      agree.insert(op);
    } catch (const Exception& error) {
      EXPECT_EQ(error.failure(), Failure::unsupported)
          << test.record->name << ": " << error.what();
      const std::string text = error.what();
      const auto from = text.find("op `");
      ASSERT_NE(from, std::string::npos) << test.record->name << ": " << text;
      refused[op].insert(
          text.substr(from + 4, text.find('`', from + 4) - from - 4));
    }
  });
  std::ifstream file(PLIMSOLL_EAGER_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  for (const auto& [op, by] : refused) {
    EXPECT_FALSE(agree.contains(op)) << op << " in some records";
    EXPECT_TRUE(page.str().find("`" + op + "`") != std::string::npos)
        << op << " is not in " << PLIMSOLL_EAGER_PAGE;
    fmt::print("refused: {} ({})\n", op, fmt::join(by, ", "));
  }
  fmt::print("agree: {}\n", fmt::join(agree, ", "));
  // Steps: nothing flows back through them.
  const std::set<std::string> flat = {
      "sign",       "equal",   "not_equal",     "less",
      "less_equal", "greater", "greater_equal", "greater_scalar"};
  for (const graph::OpDef* op : ops::all_ops()) {
    const std::string name(op->name);
    if (flat.contains(name)) continue;
    EXPECT_TRUE(op->gradient == nullptr || agree.contains(name) ||
                refused.contains(name))
        << name << " has a gradient, but no record of it";
  }
}

}  // namespace
}  // namespace plimsoll::runtime::testing
