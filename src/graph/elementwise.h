// The vocabulary of element-wise work and the small expression programs that
// fusion makes of it. Kernels on every device read the same expressions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/attrs.h"

namespace plimsoll::graph {

// `a`, `b`, `c`: operands, `s`: the instruction's scalar, which is a constant
// of the graph (a slope, a scale), never a training value. Attributes hold
// codes as numbers: new ones go to the end.
enum class ElementwiseCode : std::uint8_t {
  constant,         // s
  identity,         // a (also broadcasts)
  negate,           // -a
  add,              // a + b
  subtract,         // a - b
  multiply,         // a * b
  divide,           // a / b
  maximum,          // max(a, b)
  minimum,          // min(a, b)
  add_scalar,       // a + s
  multiply_scalar,  // a * s
  maximum_scalar,   // max(a, s)
  minimum_scalar,   // min(a, s)
  square,           // a * a
  sqrt,
  exp,
  log,
  abs,
  sign,            // -1, 0 or 1
  equal,           // a == b ? 1 : 0
  greater,         // a > b ? 1 : 0
  greater_scalar,  // a > s ? 1 : 0
  relu,
  leaky_relu,  // a > 0 ? a : s * a
  sigmoid,
  tanh,
  gelu,             // exact: a * Phi(a)
  relu_grad,        // b > 0 ? a : 0          a: dy, b: x or y
  leaky_relu_grad,  // b > 0 ? a : s * a      a: dy, b: x
  sigmoid_grad,     // a * b * (1 - b)        a: dy, b: y
  tanh_grad,        // a * (1 - b * b)        a: dy, b: y
  gelu_grad,        // a * gelu'(b)           a: dy, b: x
  bce_logits,       // max(a,0) - a*b + log1p(exp(-|a|))   a: logit, b: label
  gelu_tanh,        // a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 a^3)))
  silu,             // a * sigmoid(a)
  elu,              // a > 0 ? a : s * (exp(a) - 1)        s >= 0
  softplus,         // log(1 + exp(a))
  gelu_tanh_grad,   // a * gelu_tanh'(b)      a: dy, b: x
  silu_grad,        // a * silu'(b)           a: dy, b: x
  elu_grad,         // b > 0 ? a : a * (b + s)   a: dy, b: y
  softplus_grad,    // a * (1 - exp(-b))      a: dy, b: y
  power,            // a ^ b, as std::pow
  power_scalar,     // a ^ s, as std::pow
  less,             // a < b ? 1 : 0
  less_equal,       // a <= b ? 1 : 0
  greater_equal,    // a >= b ? 1 : 0
  not_equal,        // a != b ? 1 : 0
  where,            // a != 0 ? b : c
};
inline constexpr int kElementwiseCodes =
    static_cast<int>(ElementwiseCode::where) + 1;

std::string_view name_of(ElementwiseCode code);
// Number of operands: 0 to 3.
int arity_of(ElementwiseCode code);

// Operands are numbered: first the inputs of the fused node, then the results
// of the instructions in order.
struct ElementwiseInstruction {
  ElementwiseCode code = ElementwiseCode::identity;
  int a = -1;
  int b = -1;
  double scalar = 0;
  int c = -1;
  friend bool operator==(const ElementwiseInstruction&,
                         const ElementwiseInstruction&) = default;
};

struct ElementwiseExpression {
  int inputs = 0;
  std::vector<ElementwiseInstruction> instructions;
  std::vector<int> results;  // the operand that becomes each output

  friend bool operator==(const ElementwiseExpression&,
                         const ElementwiseExpression&) = default;
};

// As attributes of a `fused` node, and back.
Attrs to_attrs(const ElementwiseExpression& expression);
ElementwiseExpression expression_of(const Attrs& attrs);

}  // namespace plimsoll::graph
