// Definitions of argmax, topk and one_hot.
#include <fmt/core.h>

#include "ops/indexing/indexing.h"
#include "ops/movement/axis_of.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::Cost;
using graph::GradientContext;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

// Kernels keep places in 32 bits.
constexpr std::int64_t kMostRanked = (std::int64_t{1} << 31) - 1;

Error bad(std::string_view op, std::span<const TensorType> inputs,
          std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("{}({}): {}", op, graph::to_string(inputs), why)};
}

Shape with_last(const Shape& shape, std::int64_t extent) {
  std::vector<Dim> dims = shape.dims();
  dims.back() = Dim(extent);
  return Shape(std::move(dims));
}

bool has_fixed_last(const Shape& shape) {
  return shape.rank() > 0 && !shape[shape.rank() - 1].per_batch;
}

Result<TypeList> infer_argmax(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  if (inputs.size() != 1) return bad("argmax", inputs, "takes one operand");
  const Shape& shape = inputs[0].shape;
  const auto named = attrs.get<std::int64_t>("axis");
  const auto axis = axis_of(shape.rank(), named);
  if (!axis) {
    return bad("argmax", inputs, fmt::format("there is no axis {}", named));
  }
  if (shape[*axis].per_batch) {
    return bad("argmax", inputs,
               "the axis is the batch, whose examples have no fixed index");
  }
  if (shape[*axis].size < 1 || shape[*axis].size > kMostRanked) {
    return bad("argmax", inputs,
               fmt::format("an axis must have 1 to {} elements", kMostRanked));
  }
  std::vector<Dim> dims = shape.dims();
  if (attrs.get<bool>("keepdims")) {
    dims[static_cast<std::size_t>(*axis)] = Dim(1);
  } else {
    dims.erase(dims.begin() + *axis);
  }
  return TypeList{{DType::i64, Shape(std::move(dims))}};
}

Result<TypeList> infer_topk(std::span<const TensorType> inputs,
                            const Attrs& attrs) {
  const auto k = attrs.get<std::int64_t>("k");
  if (inputs.size() != 1 || !has_fixed_last(inputs[0].shape)) {
    return bad("topk", inputs,
               "takes one operand, whose last axis is not the batch");
  }
  if (inputs[0].shape.extent(-1) > kMostRanked) {
    return bad("topk", inputs,
               fmt::format("an axis may have {} elements", kMostRanked));
  }
  if (k < 1 || k > inputs[0].shape.extent(-1)) {
    return bad("topk", inputs,
               fmt::format("k is {}, but must be 1 to {}", k,
                           inputs[0].shape.extent(-1)));
  }
  const Shape shape = with_last(inputs[0].shape, k);
  return TypeList{{inputs[0].dtype, shape}, {DType::i64, shape}};
}

Result<TypeList> infer_topk_grad(std::span<const TensorType> inputs,
                                 const Attrs& attrs) {
  const auto width = attrs.get<std::int64_t>("width");
  if (inputs.size() != 2 || !has_fixed_last(inputs[0].shape) || width < 1 ||
      !(inputs[1] == TensorType{DType::i64, inputs[0].shape})) {
    return bad("topk_grad", inputs, "takes dy and i64 indices of one shape");
  }
  return TypeList{{inputs[0].dtype, with_last(inputs[0].shape, width)}};
}

Result<TypeList> infer_one_hot(std::span<const TensorType> inputs,
                               const Attrs& attrs) {
  if (inputs.size() != 1 || !is_index(inputs[0].dtype)) {
    return bad("one_hot", inputs, "takes indices of an integer type up to i64");
  }
  const auto depth = attrs.get<std::int64_t>("depth");
  const auto dtype = parse_dtype(attrs.get<std::string>("dtype"));
  if (depth < 1 || !dtype) {
    return bad("one_hot", inputs, "depth must be 1 or more, of a known dtype");
  }
  std::vector<Dim> dims = inputs[0].shape.dims();
  dims.emplace_back(depth);
  return TypeList{{*dtype, Shape(std::move(dims))}};
}

Cost reads_all(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs, const Attrs&) {
  Cost cost{2 * double(inputs[0].shape.elements()), 0};
  for (const TensorType& type : inputs) cost.bytes += double(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += double(type.bytes());
  return cost;
}

Result<std::vector<ValueId>> topk_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const ValueId dy = context.output_gradients[0];
  if (!dy.valid()) return std::vector<ValueId>(1);
  const std::int64_t width = builder.type(node.inputs[0]).shape.extent(-1);
  return std::vector{
      builder.emit(topk_grad_op(), {dy, node.outputs[1]}, {{"width", width}})};
}

OpDef define(std::string_view name, decltype(OpDef::infer) infer) {
  OpDef op;
  op.name = name;
  op.infer = infer;
  op.cost = reads_all;
  return op;
}

}  // namespace

const OpDef& argmax_op() {
  static const OpDef op = define("argmax", infer_argmax);
  return op;
}

const OpDef& topk_op() {
  static const OpDef op = [] {
    OpDef made = define("topk", infer_topk);
    made.gradient = topk_gradient;
    return made;
  }();
  return op;
}

const OpDef& topk_grad_op() {
  static const OpDef op = define("topk_grad", infer_topk_grad);
  return op;
}

const OpDef& one_hot_op() {
  static const OpDef op = define("one_hot", infer_one_hot);
  return op;
}

ValueId argmax(Builder& builder, ValueId a, std::int64_t axis, bool keepdims) {
  return builder.emit(argmax_op(), {a},
                      {{"axis", axis}, {"keepdims", keepdims}});
}

TopK topk(Builder& builder, ValueId a, std::int64_t k) {
  const auto both = builder.emit_all(topk_op(), {a}, {{"k", k}});
  return both.empty() ? TopK() : TopK{both[0], both[1]};
}

ValueId one_hot(Builder& builder, ValueId indices, std::int64_t depth,
                DType dtype) {
  return builder.emit(
      one_hot_op(), {indices},
      {{"depth", depth}, {"dtype", std::string(name_of(dtype))}});
}

}  // namespace plimsoll::ops
