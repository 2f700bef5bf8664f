#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {

ProductShape product_shape(std::span<const graph::TensorType> inputs,
                           std::span<const graph::TensorType> outputs,
                           const graph::Attrs& attrs) {
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  const Shape& c = outputs[0].shape;
  const bool ta = attrs.get<bool>("transpose_a");
  const bool tb = attrs.get<bool>("transpose_b");
  ProductShape shape;
  shape.m = c.extent(-2);
  shape.n = c.extent(-1);
  shape.k = a.extent(ta ? -2 : -1);
  for (int axis = 0; axis < c.rank() - 2; ++axis) {
    shape.batch *= c.extent(axis);
  }
  shape.a_row = ta ? 1 : shape.k;
  shape.a_col = ta ? shape.m : 1;
  shape.b_row = tb ? 1 : shape.n;
  shape.b_col = tb ? shape.k : 1;
  if (b.rank() == 2 && !ta) {
    shape.m *= shape.batch;
    shape.batch = 1;
  } else {
    shape.a_batch = a.rank() > 2 ? shape.m * shape.k : 0;
    shape.b_batch = b.rank() > 2 ? shape.k * shape.n : 0;
  }
  shape.bias = inputs.size() > 2;
  shape.relu = attrs.get<std::string>("activation") == "relu";
  return shape;
}

}  // namespace plimsoll::ops
