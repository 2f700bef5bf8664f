#include <string>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"

namespace plimsoll::ops {
namespace {

using graph::Builder;
using graph::ElementwiseCode;
using graph::ValueId;

ValueId unary(Builder& builder, ElementwiseCode code, ValueId a) {
  return builder.emit(elementwise_op(code), {a});
}

ValueId unary(Builder& builder, ElementwiseCode code, ValueId a,
              double scalar) {
  return builder.emit(elementwise_op(code), {a}, {{"scalar", scalar}});
}

ValueId binary(Builder& builder, ElementwiseCode code, ValueId a, ValueId b) {
  return builder.emit(elementwise_op(code), {a, b});
}

ValueId binary(Builder& builder, ElementwiseCode code, ValueId a, ValueId b,
               double scalar) {
  return builder.emit(elementwise_op(code), {a, b}, {{"scalar", scalar}});
}

}  // namespace

ValueId constant(Builder& builder, graph::TensorType type, double value) {
  return builder.emit(elementwise_op(ElementwiseCode::constant), {},
                      {{"shape", std::move(type.shape)},
                       {"dtype", std::string(name_of(type.dtype))},
                       {"scalar", value}});
}

ValueId broadcast_to(Builder& builder, ValueId a, Shape shape) {
  if (a.valid() && builder.ok() && builder.type(a).shape == shape) return a;
  return builder.emit(elementwise_op(ElementwiseCode::identity), {a},
                      {{"shape", std::move(shape)}});
}

ValueId sum_to(Builder& builder, ValueId value, graph::TensorType type) {
  if (!builder.ok() || !value.valid()) return {};
  const Shape& wide = builder.type(value).shape;
  if (wide == type.shape) return value;
  const int added = wide.rank() - type.shape.rank();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < wide.rank(); ++axis) {
    if (axis < added || !(wide[axis] == type.shape[axis - added])) {
      axes.push_back(axis);
    }
  }
  return reshape(builder, reduce_sum(builder, value, std::move(axes), true),
                 std::move(type.shape));
}

ValueId identity(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::identity, a);
}
ValueId negate(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::negate, a);
}
ValueId add(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::add, a, b);
}
ValueId subtract(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::subtract, a, b);
}
ValueId multiply(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::multiply, a, b);
}
ValueId divide(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::divide, a, b);
}
ValueId maximum(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::maximum, a, b);
}
ValueId minimum(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::minimum, a, b);
}
ValueId add_scalar(Builder& builder, ValueId a, double scalar) {
  return unary(builder, ElementwiseCode::add_scalar, a, scalar);
}
ValueId multiply_scalar(Builder& builder, ValueId a, double scalar) {
  return unary(builder, ElementwiseCode::multiply_scalar, a, scalar);
}
ValueId maximum_scalar(Builder& builder, ValueId a, double scalar) {
  return unary(builder, ElementwiseCode::maximum_scalar, a, scalar);
}
ValueId minimum_scalar(Builder& builder, ValueId a, double scalar) {
  return unary(builder, ElementwiseCode::minimum_scalar, a, scalar);
}
ValueId clip(Builder& builder, ValueId a, double low, double high) {
  return minimum_scalar(builder, maximum_scalar(builder, a, low), high);
}
ValueId power(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::power, a, b);
}
ValueId power_scalar(Builder& builder, ValueId a, double exponent) {
  if (exponent == 2) return square(builder, a);
  return unary(builder, ElementwiseCode::power_scalar, a, exponent);
}
ValueId square(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::square, a);
}
ValueId sqrt(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::sqrt, a);
}
ValueId exp(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::exp, a);
}
ValueId log(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::log, a);
}
ValueId abs(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::abs, a);
}
ValueId sign(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::sign, a);
}
ValueId equal(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::equal, a, b);
}
ValueId greater(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::greater, a, b);
}
ValueId less(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::less, a, b);
}
ValueId less_equal(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::less_equal, a, b);
}
ValueId greater_equal(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::greater_equal, a, b);
}
ValueId not_equal(Builder& builder, ValueId a, ValueId b) {
  return binary(builder, ElementwiseCode::not_equal, a, b);
}
ValueId where(Builder& builder, ValueId condition, ValueId a, ValueId b) {
  return builder.emit(elementwise_op(ElementwiseCode::where),
                      {condition, a, b});
}
ValueId greater_scalar(Builder& builder, ValueId a, double scalar) {
  return unary(builder, ElementwiseCode::greater_scalar, a, scalar);
}
ValueId relu(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::relu, a);
}
ValueId leaky_relu(Builder& builder, ValueId a, double slope) {
  return unary(builder, ElementwiseCode::leaky_relu, a, slope);
}
ValueId sigmoid(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::sigmoid, a);
}
ValueId tanh(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::tanh, a);
}
ValueId gelu(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::gelu, a);
}
ValueId gelu_tanh(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::gelu_tanh, a);
}
ValueId silu(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::silu, a);
}
ValueId elu(Builder& builder, ValueId a, double alpha) {
  return unary(builder, ElementwiseCode::elu, a, alpha);
}
ValueId softplus(Builder& builder, ValueId a) {
  return unary(builder, ElementwiseCode::softplus, a);
}
ValueId bce_logits(Builder& builder, ValueId logit, ValueId label) {
  return binary(builder, ElementwiseCode::bce_logits, logit, label);
}

ValueId relu_grad(Builder& builder, ValueId dy, ValueId y) {
  return binary(builder, ElementwiseCode::relu_grad, dy, y);
}
ValueId leaky_relu_grad(Builder& builder, ValueId dy, ValueId x, double slope) {
  return binary(builder, ElementwiseCode::leaky_relu_grad, dy, x, slope);
}
ValueId sigmoid_grad(Builder& builder, ValueId dy, ValueId y) {
  return binary(builder, ElementwiseCode::sigmoid_grad, dy, y);
}
ValueId tanh_grad(Builder& builder, ValueId dy, ValueId y) {
  return binary(builder, ElementwiseCode::tanh_grad, dy, y);
}
ValueId gelu_grad(Builder& builder, ValueId dy, ValueId x) {
  return binary(builder, ElementwiseCode::gelu_grad, dy, x);
}
ValueId gelu_tanh_grad(Builder& builder, ValueId dy, ValueId x) {
  return binary(builder, ElementwiseCode::gelu_tanh_grad, dy, x);
}
ValueId silu_grad(Builder& builder, ValueId dy, ValueId x) {
  return binary(builder, ElementwiseCode::silu_grad, dy, x);
}
ValueId elu_grad(Builder& builder, ValueId dy, ValueId y, double alpha) {
  return binary(builder, ElementwiseCode::elu_grad, dy, y, alpha);
}
ValueId softplus_grad(Builder& builder, ValueId dy, ValueId y) {
  return binary(builder, ElementwiseCode::softplus_grad, dy, y);
}

}  // namespace plimsoll::ops
