// Element-wise ops: every code of graph/elementwise.h as an op of its name,
// and `fused`, which runs an expression of them. Operands broadcast by NumPy's
// rules and share one dtype: nothing is promoted.
#pragma once

#include <span>

#include "graph/builder.h"
#include "graph/elementwise.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> elementwise_ops();
const graph::OpDef& elementwise_op(graph::ElementwiseCode code);
// The target of graph::fuse_elementwise. Attributes: those of to_attrs(), and
// optionally "shape" and "dtype" of the outputs, where inputs do not tell; or
// "dtypes", one an output, where f32, bf16 and f16 are mixed. Nothing between
// inputs and outputs is rounded to bf16 or f16.
const graph::OpDef& fused_op();

// What a node of an element-wise op or of `fused` computes.
graph::ElementwiseExpression expression_of(const graph::OpDef& op,
                                           const graph::Attrs& attrs);

// Types and shapes go by value: builder.type() is only good until the next
// node is emitted.

// A tensor of one value.
graph::ValueId constant(graph::Builder& builder, graph::TensorType type,
                        double value);
graph::ValueId broadcast_to(graph::Builder& builder, graph::ValueId a,
                            Shape shape);
// The gradient of broadcasting: `value` summed until it has `type`'s shape.
graph::ValueId sum_to(graph::Builder& builder, graph::ValueId value,
                      graph::TensorType type);

graph::ValueId identity(graph::Builder& builder, graph::ValueId a);
graph::ValueId negate(graph::Builder& builder, graph::ValueId a);
graph::ValueId add(graph::Builder& builder, graph::ValueId a, graph::ValueId b);
graph::ValueId subtract(graph::Builder& builder, graph::ValueId a,
                        graph::ValueId b);
graph::ValueId multiply(graph::Builder& builder, graph::ValueId a,
                        graph::ValueId b);
graph::ValueId divide(graph::Builder& builder, graph::ValueId a,
                      graph::ValueId b);
// The gradient goes to the larger one, of equals half to each.
graph::ValueId maximum(graph::Builder& builder, graph::ValueId a,
                       graph::ValueId b);
// The gradient goes to the smaller one, of equals half to each.
graph::ValueId minimum(graph::Builder& builder, graph::ValueId a,
                       graph::ValueId b);
graph::ValueId add_scalar(graph::Builder& builder, graph::ValueId a,
                          double scalar);
graph::ValueId multiply_scalar(graph::Builder& builder, graph::ValueId a,
                               double scalar);
graph::ValueId maximum_scalar(graph::Builder& builder, graph::ValueId a,
                              double scalar);
graph::ValueId minimum_scalar(graph::Builder& builder, graph::ValueId a,
                              double scalar);
// min(max(a, low), high). The gradient is 1 between the bounds, 0 on them and
// beyond.
graph::ValueId clip(graph::Builder& builder, graph::ValueId a, double low,
                    double high);
// std::pow's rules: a negative base with an exponent that is not whole is NaN.
// The gradient of `b` is 0 where `a` is not above 0: no real one is there.
graph::ValueId power(graph::Builder& builder, graph::ValueId a,
                     graph::ValueId b);
// A square where the exponent is 2.
graph::ValueId power_scalar(graph::Builder& builder, graph::ValueId a,
                            double exponent);
graph::ValueId square(graph::Builder& builder, graph::ValueId a);
graph::ValueId sqrt(graph::Builder& builder, graph::ValueId a);
graph::ValueId exp(graph::Builder& builder, graph::ValueId a);
graph::ValueId log(graph::Builder& builder, graph::ValueId a);
graph::ValueId abs(graph::Builder& builder, graph::ValueId a);
graph::ValueId sign(graph::Builder& builder, graph::ValueId a);
// Comparisons are 1 or 0 in the operands' dtype; no gradient flows. Nothing
// equals NaN, and it is neither less nor greater.
graph::ValueId equal(graph::Builder& builder, graph::ValueId a,
                     graph::ValueId b);
graph::ValueId greater(graph::Builder& builder, graph::ValueId a,
                       graph::ValueId b);
graph::ValueId less(graph::Builder& builder, graph::ValueId a,
                    graph::ValueId b);
graph::ValueId less_equal(graph::Builder& builder, graph::ValueId a,
                          graph::ValueId b);
graph::ValueId greater_equal(graph::Builder& builder, graph::ValueId a,
                             graph::ValueId b);
graph::ValueId not_equal(graph::Builder& builder, graph::ValueId a,
                         graph::ValueId b);
// condition != 0 ? a : b; the condition has the dtype of `a` and `b`. Neither
// values nor gradients of the side that is not chosen come through.
graph::ValueId where(graph::Builder& builder, graph::ValueId condition,
                     graph::ValueId a, graph::ValueId b);
graph::ValueId greater_scalar(graph::Builder& builder, graph::ValueId a,
                              double scalar);
graph::ValueId relu(graph::Builder& builder, graph::ValueId a);
graph::ValueId leaky_relu(graph::Builder& builder, graph::ValueId a,
                          double slope);
graph::ValueId sigmoid(graph::Builder& builder, graph::ValueId a);
graph::ValueId tanh(graph::Builder& builder, graph::ValueId a);
graph::ValueId gelu(graph::Builder& builder, graph::ValueId a);
graph::ValueId gelu_tanh(graph::Builder& builder, graph::ValueId a);
graph::ValueId silu(graph::Builder& builder, graph::ValueId a);
// `alpha` is at least 0.
graph::ValueId elu(graph::Builder& builder, graph::ValueId a, double alpha);
graph::ValueId softplus(graph::Builder& builder, graph::ValueId a);
graph::ValueId bce_logits(graph::Builder& builder, graph::ValueId logit,
                          graph::ValueId label);

// Parts of gradients: `dy` times the derivative at x, or by way of y = f(x).
graph::ValueId relu_grad(graph::Builder& builder, graph::ValueId dy,
                         graph::ValueId y);
graph::ValueId leaky_relu_grad(graph::Builder& builder, graph::ValueId dy,
                               graph::ValueId x, double slope);
graph::ValueId sigmoid_grad(graph::Builder& builder, graph::ValueId dy,
                            graph::ValueId y);
graph::ValueId tanh_grad(graph::Builder& builder, graph::ValueId dy,
                         graph::ValueId y);
graph::ValueId gelu_grad(graph::Builder& builder, graph::ValueId dy,
                         graph::ValueId x);
graph::ValueId gelu_tanh_grad(graph::Builder& builder, graph::ValueId dy,
                              graph::ValueId x);
graph::ValueId silu_grad(graph::Builder& builder, graph::ValueId dy,
                         graph::ValueId x);
graph::ValueId elu_grad(graph::Builder& builder, graph::ValueId dy,
                        graph::ValueId y, double alpha);
graph::ValueId softplus_grad(graph::Builder& builder, graph::ValueId dy,
                             graph::ValueId y);

}  // namespace plimsoll::ops
