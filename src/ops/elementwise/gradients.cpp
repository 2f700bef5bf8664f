#include "ops/elementwise/gradients.h"

#include <array>
#include <numbers>

#include "ops/elementwise/elementwise.h"

namespace plimsoll::ops {
namespace {

using graph::Builder;
using graph::ElementwiseCode;
using graph::ValueId;

// One node seen from its gradient rule: y = f(a, b, c; s), and dy.
struct Call {
  Builder& g;
  ValueId a, b, c, y, dy;
  double s = 0;
};

// One for each operand.
using Terms = std::array<ValueId, 3>;

ValueId zero_like(Builder& g, ValueId a) {
  if (!g.ok()) return {};
  return constant(g, {g.type(a).dtype, Shape{}}, 0);
}

// 1 where a wins over b, a half where they tie.
ValueId wins(Builder& g, ValueId a, ValueId b) {
  return add(g, greater(g, a, b), multiply_scalar(g, equal(g, a, b), 0.5));
}

Terms extremum(const Call& c, ValueId mask) {
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

// gelu_tanh''(x) = (1 - t^2) (k (1 + 6 c x^2) - x t u'^2), where t = tanh(u),
// u = k x (1 + c x^2) and so u' = k (1 + 3 c x^2).
ValueId gelu_tanh_second(Builder& g, ValueId x) {
  const double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const double c = 0.044715;
  const ValueId squared = square(g, x);
  const auto line = [&](double slope) {
    return multiply_scalar(
        g, add_scalar(g, multiply_scalar(g, squared, slope), 1), k);
  };
  const ValueId t = tanh(g, multiply(g, x, line(c)));
  const ValueId bent = multiply(g, multiply(g, x, t), square(g, line(3 * c)));
  return tanh_grad(g, subtract(g, line(6 * c), bent), t);
}

// silu''(x) = s (1 - s) (2 + x (1 - 2 s))
ValueId silu_second(Builder& g, ValueId x) {
  const ValueId s = sigmoid(g, x);
  const ValueId slope = add_scalar(g, multiply_scalar(g, s, -2), 1);
  return sigmoid_grad(g, add_scalar(g, multiply(g, x, slope), 2), s);
}

// b a^(b - 1) for a; y log(a) for b where a > 0, and 0 elsewhere. b = 0 makes
// a constant of every a.
Terms power_terms(const Call& c) {
  Builder& g = c.g;
  const ValueId zero = zero_like(g, c.a);
  const ValueId lower = power(g, c.a, add_scalar(g, c.b, -1));
  const ValueId da = multiply(g, multiply(g, c.dy, c.b), lower);
  const ValueId db = multiply(g, multiply(g, c.dy, c.y), log(g, c.a));
  return {where(g, c.b, da, zero),
          where(g, greater_scalar(g, c.a, 0), db, zero)};
}

// Gradients before summing over what was broadcast; invalid where none flows.
Terms terms(ElementwiseCode code, const Call& c) {
  Builder& g = c.g;
  switch (code) {
    case ElementwiseCode::constant:
    case ElementwiseCode::sign:
    case ElementwiseCode::equal:
    case ElementwiseCode::greater:
    case ElementwiseCode::greater_scalar:
    case ElementwiseCode::less:
    case ElementwiseCode::less_equal:
    case ElementwiseCode::greater_equal:
    case ElementwiseCode::not_equal:
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
      // By y, which tells as much: clip's gradient then needs its ends alone
      // and not what lies between the two.
      return {multiply(g, c.dy, greater_scalar(g, negate(g, c.y), -c.s))};
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
    case ElementwiseCode::gelu_tanh:
      return {gelu_tanh_grad(g, c.dy, c.a)};
    case ElementwiseCode::silu:
      return {silu_grad(g, c.dy, c.a)};
    case ElementwiseCode::elu:
      return {elu_grad(g, c.dy, c.y, c.s)};
    case ElementwiseCode::softplus:
      return {softplus_grad(g, c.dy, c.y)};
    case ElementwiseCode::gelu_tanh_grad:
      return {gelu_tanh_grad(g, c.dy, c.b),
              multiply(g, multiply(g, c.dy, c.a), gelu_tanh_second(g, c.b))};
    case ElementwiseCode::silu_grad:
      return {silu_grad(g, c.dy, c.b),
              multiply(g, multiply(g, c.dy, c.a), silu_second(g, c.b))};
    case ElementwiseCode::elu_grad: {
      const ValueId passed = multiply(g, c.dy, c.a);
      return {elu_grad(g, c.dy, c.b, c.s),
              subtract(g, passed, relu_grad(g, passed, c.b))};
    }
    case ElementwiseCode::softplus_grad:
      return {softplus_grad(g, c.dy, c.b),
              multiply(g, multiply(g, c.dy, c.a), exp(g, negate(g, c.b)))};
    case ElementwiseCode::power:
      return power_terms(c);
    case ElementwiseCode::power_scalar: {
      if (c.s == 0) return {multiply_scalar(g, c.dy, 0)};
      const ValueId lower = power_scalar(g, c.a, c.s - 1);
      return {multiply(g, c.dy, multiply_scalar(g, lower, c.s))};
    }
    case ElementwiseCode::where: {
      const ValueId zero = zero_like(g, c.dy);
      return {ValueId(), where(g, c.a, c.dy, zero), where(g, c.a, zero, c.dy)};
    }
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
            {},
            node.outputs[0],
            context.output_gradients[0],
            node.attrs.get<double>("scalar")};
  if (!node.inputs.empty()) call.a = node.inputs[0];
  if (node.inputs.size() > 1) call.b = node.inputs[1];
  if (node.inputs.size() > 2) call.c = node.inputs[2];
  const Terms wide = terms(*node.op->elementwise, call);
  std::vector<ValueId> gradients(node.inputs.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!wide[i].valid()) continue;
    gradients[i] = sum_to(builder, wide[i], builder.type(node.inputs[i]));
  }
  if (!builder.ok()) return builder.status().error();
  return gradients;
}

}  // namespace plimsoll::ops
