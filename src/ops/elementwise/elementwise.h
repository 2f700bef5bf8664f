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
// optionally "shape" and "dtype" of the outputs, where inputs do not tell.
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
graph::ValueId maximum(graph::Builder& builder, graph::ValueId a,
                       graph::ValueId b);
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
graph::ValueId square(graph::Builder& builder, graph::ValueId a);
graph::ValueId sqrt(graph::Builder& builder, graph::ValueId a);
graph::ValueId exp(graph::Builder& builder, graph::ValueId a);
graph::ValueId log(graph::Builder& builder, graph::ValueId a);
graph::ValueId abs(graph::Builder& builder, graph::ValueId a);
graph::ValueId sign(graph::Builder& builder, graph::ValueId a);
graph::ValueId equal(graph::Builder& builder, graph::ValueId a,
                     graph::ValueId b);
graph::ValueId greater(graph::Builder& builder, graph::ValueId a,
                       graph::ValueId b);
graph::ValueId greater_scalar(graph::Builder& builder, graph::ValueId a,
                              double scalar);
graph::ValueId relu(graph::Builder& builder, graph::ValueId a);
graph::ValueId leaky_relu(graph::Builder& builder, graph::ValueId a,
                          double slope);
graph::ValueId sigmoid(graph::Builder& builder, graph::ValueId a);
graph::ValueId tanh(graph::Builder& builder, graph::ValueId a);
graph::ValueId gelu(graph::Builder& builder, graph::ValueId a);
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

}  // namespace plimsoll::ops
