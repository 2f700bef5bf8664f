#include "ops/matmul/matmul_gradient.h"

#include <numeric>
#include <optional>

#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"

namespace plimsoll::ops {
namespace {

using graph::Builder;
using graph::ValueId;

std::vector<std::int64_t> first_axes(int count) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The shape with all dimensions but the last flattened into one; none where
// the product would be quadratic in the batch.
std::optional<Shape> as_rows(const Shape& shape) {
  Dim rows(1);
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    if (rows.per_batch && shape[axis].per_batch) return std::nullopt;
    rows.size *= shape[axis].size;
    rows.per_batch = rows.per_batch || shape[axis].per_batch;
  }
  return Shape{rows, shape[shape.rank() - 1]};
}

// Sums the batches of a gradient whose operand served all of them.
ValueId sum_batches(Builder& builder, ValueId gradient, int operand_rank) {
  const int extra = builder.type(gradient).shape.rank() - operand_rank;
  if (extra <= 0) return gradient;
  return reduce_sum(builder, gradient, first_axes(extra), false);
}

ValueId gradient_of_a(Builder& builder, ValueId b, ValueId dc, bool ta, bool tb,
                      int rank) {
  const ValueId full = ta ? matmul(builder, b, dc, tb, true)
                          : matmul(builder, dc, b, false, !tb);
  return builder.ok() ? sum_batches(builder, full, rank) : full;
}

ValueId gradient_of_b(Builder& builder, ValueId a, ValueId dc, bool ta, bool tb,
                      int rank) {
  if (rank == 2 && !ta && builder.type(a).shape.rank() > 2) {
    const auto a_rows = as_rows(builder.type(a).shape);
    const auto c_rows = as_rows(builder.type(dc).shape);
    if (a_rows && c_rows) {  // one long product instead of a sum of many
      a = reshape(builder, a, *a_rows);
      dc = reshape(builder, dc, *c_rows);
    }
  }
  const ValueId full = tb ? matmul(builder, dc, a, true, ta)
                          : matmul(builder, a, dc, !ta, false);
  return builder.ok() ? sum_batches(builder, full, rank) : full;
}

}  // namespace

Result<std::vector<ValueId>> matmul_gradient(graph::GradientContext& context) {
  Builder& builder = context.builder;
  // A copy: emitting nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  const ValueId a = node.inputs[0];
  const ValueId b = node.inputs[1];
  const int a_rank = builder.type(a).shape.rank();
  const int b_rank = builder.type(b).shape.rank();
  ValueId dc = context.output_gradients[0];
  if (node.attrs.get<std::string>("activation") == "relu") {
    dc = relu_grad(builder, dc, node.outputs[0]);
  }
  const ValueId wide = dc;
  if (builder.ok()) dc = cast(builder, dc, builder.type(a).dtype);
  const bool ta = node.attrs.get<bool>("transpose_a");
  const bool tb = node.attrs.get<bool>("transpose_b");
  std::vector<ValueId> gradients{gradient_of_a(builder, b, dc, ta, tb, a_rank),
                                 gradient_of_b(builder, a, dc, ta, tb, b_rank)};
  if (node.inputs.size() > 2 && builder.ok()) {
    const int rank = builder.type(dc).shape.rank();
    gradients.push_back(reduce_sum(builder, wide, first_axes(rank - 1), false));
  }
  if (!builder.ok()) return builder.status().error();
  return gradients;
}

}  // namespace plimsoll::ops
