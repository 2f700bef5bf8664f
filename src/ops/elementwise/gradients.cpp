#include "ops/elementwise/gradients.h"

#include <array>
#include <numbers>

#include "ops/elementwise/elementwise.h"

namespace plimsoll::ops {
namespace {

using graph::Builder;
using graph::ElementwiseCode;
using graph::ValueId;

// One node seen from its gradient rule: y = f(a, b; s), and dy.
struct Call {
  Builder& g;
  ValueId a, b, y, dy;
  double s = 0;
};

using Pair = std::array<ValueId, 2>;

// 1 where a wins over b, a half where they tie.
ValueId wins(Builder& g, ValueId a, ValueId b) {
  return add(g, greater(g, a, b), multiply_scalar(g, equal(g, a, b), 0.5));
}

Pair extremum(const Call& c, ValueId mask) {
  const ValueId da = multiply(c.g, c.dy, mask);
  return {da, subtract(c.g, c.dy, da)};
}

// gelu''(x) = phi(x) (2 - x^2)
ValueId gelu_second(Builder& g, ValueId x) {
  const ValueId squared = square(g, x);
  const ValueId density =
      multiply_scalar(g, exp(g, multiply_scalar(g, squared, -0.5)),
                      std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return multiply(g, density, add_scalar(g, negate(g, squared), 2));
}

// Gradients before summing over what was broadcast; invalid where none flows.
Pair terms(ElementwiseCode code, const Call& c) {
  Builder& g = c.g;
  switch (code) {
    case ElementwiseCode::constant:
    case ElementwiseCode::sign:
    case ElementwiseCode::equal:
    case ElementwiseCode::greater:
    case ElementwiseCode::greater_scalar:
      return {};
    case ElementwiseCode::identity:
    case ElementwiseCode::add_scalar:
      return {c.dy};
    case ElementwiseCode::negate:
      return {negate(g, c.dy)};
    case ElementwiseCode::add:
      return {c.dy, c.dy};
    case ElementwiseCode::subtract:
      return {c.dy, negate(g, c.dy)};
    case ElementwiseCode::multiply:
      return {multiply(g, c.dy, c.b), multiply(g, c.dy, c.a)};
    case ElementwiseCode::divide: {
      const ValueId da = divide(g, c.dy, c.b);
      return {da, negate(g, multiply(g, da, c.y))};
    }
    case ElementwiseCode::maximum:
      return extremum(c, wins(g, c.a, c.b));
    case ElementwiseCode::minimum:
      return extremum(c, wins(g, c.b, c.a));
    case ElementwiseCode::multiply_scalar:
      return {multiply_scalar(g, c.dy, c.s)};
    case ElementwiseCode::maximum_scalar:
      return {multiply(g, c.dy, greater_scalar(g, c.a, c.s))};
    case ElementwiseCode::minimum_scalar:
      return {multiply(g, c.dy, greater_scalar(g, negate(g, c.a), -c.s))};
    case ElementwiseCode::square:
      return {multiply(g, c.dy, multiply_scalar(g, c.a, 2))};
    case ElementwiseCode::sqrt:
      return {multiply_scalar(g, divide(g, c.dy, c.y), 0.5)};
    case ElementwiseCode::exp:
      return {multiply(g, c.dy, c.y)};
    case ElementwiseCode::log:
      return {divide(g, c.dy, c.a)};
    case ElementwiseCode::abs:
      return {multiply(g, c.dy, sign(g, c.a))};
    case ElementwiseCode::relu:
      return {relu_grad(g, c.dy, c.y)};
    case ElementwiseCode::leaky_relu:
      return {leaky_relu_grad(g, c.dy, c.a, c.s)};
    case ElementwiseCode::sigmoid:
      return {sigmoid_grad(g, c.dy, c.y)};
    case ElementwiseCode::tanh:
      return {tanh_grad(g, c.dy, c.y)};
    case ElementwiseCode::gelu:
      return {gelu_grad(g, c.dy, c.a)};
    case ElementwiseCode::relu_grad:
      return {relu_grad(g, c.dy, c.b)};
    case ElementwiseCode::leaky_relu_grad:
      return {leaky_relu_grad(g, c.dy, c.b, c.s)};
    case ElementwiseCode::sigmoid_grad: {
      const ValueId slope = add_scalar(g, multiply_scalar(g, c.b, -2), 1);
      return {sigmoid_grad(g, c.dy, c.b),
              multiply(g, multiply(g, c.dy, c.a), slope)};
    }
    case ElementwiseCode::tanh_grad: {
      const ValueId slope = multiply_scalar(g, c.b, -2);
      return {tanh_grad(g, c.dy, c.b),
              multiply(g, multiply(g, c.dy, c.a), slope)};
    }
    case ElementwiseCode::gelu_grad:
      return {gelu_grad(g, c.dy, c.b),
              multiply(g, multiply(g, c.dy, c.a), gelu_second(g, c.b))};
    case ElementwiseCode::bce_logits:
      return {multiply(g, c.dy, subtract(g, sigmoid(g, c.a), c.b)),
              negate(g, multiply(g, c.dy, c.a))};
  }
  return {};
}

}  // namespace

Result<std::vector<ValueId>> elementwise_gradient(
    graph::GradientContext& context) {
  Builder& builder = context.builder;
  // A copy: emitting nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  Call call{builder,
            {},
            {},
            node.outputs[0],
            context.output_gradients[0],
            node.attrs.get<double>("scalar")};
  if (!node.inputs.empty()) call.a = node.inputs[0];
  if (node.inputs.size() > 1) call.b = node.inputs[1];
  const Pair wide = terms(*node.op->elementwise, call);
  std::vector<ValueId> gradients(node.inputs.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!wide[i].valid()) continue;
    gradients[i] = sum_to(builder, wide[i], builder.type(node.inputs[i]));
  }
  if (!builder.ok()) return builder.status().error();
  return gradients;
}

}  // namespace plimsoll::ops
