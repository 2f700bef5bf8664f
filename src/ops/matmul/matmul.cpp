#include "ops/matmul/matmul.h"

#include <fmt/core.h>

#include "ops/matmul/matmul_gradient.h"
#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;

Error mistake(std::span<const TensorType> inputs, const Attrs& attrs,
              std::string_view what) {
  return {
      ErrorCode::bad_input,
      fmt::format("matmul({}){}{}: {}", graph::to_string(inputs),
                  attrs.get<bool>("transpose_a") ? " a transposed" : "",
                  attrs.get<bool>("transpose_b") ? " b transposed" : "", what)};
}

std::vector<Dim> leading(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end() - 2};
}

Result<TypeList> infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs.size() != 2 && inputs.size() != 3) {
    return mistake(inputs, attrs, "takes a, b and at most a bias");
  }
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  if (a.rank() < 2 || b.rank() < 2) {
    return mistake(inputs, attrs, "both operands need at least two dimensions");
  }
  const DType dtype = inputs[0].dtype;
  if (!is_floating(dtype) || inputs[1].dtype != dtype) {
    return mistake(inputs, attrs, "operands must share one floating dtype");
  }
  const bool ta = attrs.get<bool>("transpose_a");
  const bool tb = attrs.get<bool>("transpose_b");
  const Dim m = a[a.rank() - (ta ? 1 : 2)];
  const Dim k = a[a.rank() - (ta ? 2 : 1)];
  const Dim n = b[b.rank() - (tb ? 2 : 1)];
  if (!(k == b[b.rank() - (tb ? 1 : 2)])) {
    return mistake(inputs, attrs, "the inner dimensions differ");
  }
  std::vector<Dim> dims = leading(a.rank() >= b.rank() ? a : b);
  if (a.rank() > 2 && b.rank() > 2 && leading(a) != leading(b)) {
    return mistake(inputs, attrs, "the leading dimensions differ");
  }
  dims.push_back(m);
  dims.push_back(n);
  DType out = dtype;
  if (attrs.has("out")) {
    const auto named = parse_dtype(attrs.get<std::string>("out"));
    if (!named || (*named != dtype && *named != DType::f32) ||
        (dtype == DType::f64 && *named != DType::f64)) {
      return mistake(inputs, attrs,
                     "\"out\" must be the operands' dtype or f32");
    }
    out = *named;
  }
  const auto activation = attrs.get<std::string>("activation");
  if (!activation.empty() && activation != "relu") {
    return mistake(inputs, attrs,
                   fmt::format("unknown activation \"{}\"", activation));
  }
  if (inputs.size() == 3 &&
      inputs[2] != TensorType{out, Shape(std::vector<Dim>{n})}) {
    return mistake(inputs, attrs, "the bias must be [N] of the output's dtype");
  }
  return TypeList{{out, Shape(std::move(dims))}};
}

graph::Cost cost(std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs, const Attrs& attrs) {
  const ProductShape shape = product_shape(inputs, outputs, attrs);
  return {shape.flops(), bytes_of(inputs) + bytes_of(outputs)};
}

graph::OpDef make_op() {
  graph::OpDef op;
  op.name = "matmul";
  op.infer = infer;
  op.cost = cost;
  op.gradient = matmul_gradient;
  return op;
}

}  // namespace

const graph::OpDef& matmul_op() {
  static const graph::OpDef op = make_op();
  return op;
}

std::span<const graph::OpDef* const> matmul_ops() {
  static const graph::OpDef* const ops[] = {&matmul_op()};
  return ops;
}

graph::ValueId matmul(graph::Builder& builder, graph::ValueId a,
                      graph::ValueId b, bool transpose_a, bool transpose_b) {
  Attrs attrs;
  if (transpose_a) attrs.set("transpose_a", true);
  if (transpose_b) attrs.set("transpose_b", true);
  return builder.emit(matmul_op(), {a, b}, std::move(attrs));
}

}  // namespace plimsoll::ops
