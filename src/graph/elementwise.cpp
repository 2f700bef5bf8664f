#include "graph/elementwise.h"

#include <array>
#include <cstddef>

namespace plimsoll::graph {
namespace {

struct CodeFacts {
  std::string_view name;
  int arity;
};

constexpr std::array kCodes = {
    CodeFacts{"constant", 0},
    CodeFacts{"identity", 1},
    CodeFacts{"negate", 1},
    CodeFacts{"add", 2},
    CodeFacts{"subtract", 2},
    CodeFacts{"multiply", 2},
    CodeFacts{"divide", 2},
    CodeFacts{"maximum", 2},
    CodeFacts{"minimum", 2},
    CodeFacts{"add_scalar", 1},
    CodeFacts{"multiply_scalar", 1},
    CodeFacts{"maximum_scalar", 1},
    CodeFacts{"minimum_scalar", 1},
    CodeFacts{"square", 1},
    CodeFacts{"sqrt", 1},
    CodeFacts{"exp", 1},
    CodeFacts{"log", 1},
    CodeFacts{"abs", 1},
    CodeFacts{"sign", 1},
    CodeFacts{"equal", 2},
    CodeFacts{"greater", 2},
    CodeFacts{"greater_scalar", 1},
    CodeFacts{"relu", 1},
    CodeFacts{"leaky_relu", 1},
    CodeFacts{"sigmoid", 1},
    CodeFacts{"tanh", 1},
    CodeFacts{"gelu", 1},
    CodeFacts{"relu_grad", 2},
    CodeFacts{"leaky_relu_grad", 2},
    CodeFacts{"sigmoid_grad", 2},
    CodeFacts{"tanh_grad", 2},
    CodeFacts{"gelu_grad", 2},
    CodeFacts{"bce_logits", 2},
    CodeFacts{"gelu_tanh", 1},
    CodeFacts{"silu", 1},
    CodeFacts{"elu", 1},
    CodeFacts{"softplus", 1},
    CodeFacts{"gelu_tanh_grad", 2},
    CodeFacts{"silu_grad", 2},
    CodeFacts{"elu_grad", 2},
    CodeFacts{"softplus_grad", 2},
    CodeFacts{"power", 2},
    CodeFacts{"power_scalar", 1},
    CodeFacts{"less", 2},
    CodeFacts{"less_equal", 2},
    CodeFacts{"greater_equal", 2},
    CodeFacts{"not_equal", 2},
    CodeFacts{"where", 3},
};
static_assert(kCodes.size() == kElementwiseCodes);

}  // namespace

std::string_view name_of(ElementwiseCode code) {
  return kCodes[static_cast<std::size_t>(code)].name;
}

int arity_of(ElementwiseCode code) {
  return kCodes[static_cast<std::size_t>(code)].arity;
}

Attrs to_attrs(const ElementwiseExpression& expression) {
  std::vector<std::int64_t> code;
  std::vector<double> scalars;
  std::vector<std::int64_t> thirds;
  bool any_third = false;
  for (const ElementwiseInstruction& step : expression.instructions) {
    code.insert(code.end(),
                {static_cast<std::int64_t>(step.code), step.a, step.b});
    scalars.push_back(step.scalar);
    thirds.push_back(step.c);
    any_third = any_third || step.c >= 0;
  }
  Attrs attrs{{"inputs", std::int64_t{expression.inputs}},
              {"code", std::move(code)},
              {"scalars", std::move(scalars)},
              {"results", std::vector<std::int64_t>(expression.results.begin(),
                                                    expression.results.end())}};
  // Left out where nobody has one: expressions keep the text they had.
  if (any_third) attrs.set("thirds", std::move(thirds));
  return attrs;
}

ElementwiseExpression expression_of(const Attrs& attrs) {
  ElementwiseExpression expression;
  expression.inputs = static_cast<int>(attrs.get<std::int64_t>("inputs"));
  const auto code = attrs.get<std::vector<std::int64_t>>("code");
  const auto scalars = attrs.get<std::vector<double>>("scalars");
  const auto thirds = attrs.get<std::vector<std::int64_t>>("thirds");
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    expression.instructions.push_back(
        {static_cast<ElementwiseCode>(code[3 * i]),
         static_cast<int>(code[3 * i + 1]), static_cast<int>(code[3 * i + 2]),
         scalars[i], i < thirds.size() ? static_cast<int>(thirds[i]) : -1});
  }
  for (const std::int64_t result :
       attrs.get<std::vector<std::int64_t>>("results")) {
    expression.results.push_back(static_cast<int>(result));
  }
  return expression;
}

}  // namespace plimsoll::graph
