#include "ops/loss/loss.h"

#include <fmt/core.h>

#include <array>

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

Shape rows_of(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin(), shape.dims().end() - 1));
}

Error misfit(std::string_view op, const TensorType& logits,
             const TensorType& labels, std::string_view rule) {
  return {ErrorCode::bad_input,
          fmt::format("{} of {} and labels {}: {}", op, logits.to_string(),
                      labels.to_string(), rule)};
}

Status check_dense(std::string_view op, const TensorType& logits,
                   const TensorType& labels) {
  if (logits.shape.rank() >= 1 && logits == labels) return {};
  return misfit(op, logits, labels, "labels must have the logits' type");
}

Status check_sparse(std::string_view op, const TensorType& logits,
                    const TensorType& labels) {
  if (logits.shape.rank() >= 1 && labels.dtype == DType::i32 &&
      labels.shape == rows_of(logits.shape)) {
    return {};
  }
  return misfit(
      op, logits, labels,
      "labels must be i32 of the logits' shape without its last axis");
}

Status check_count(std::string_view op, std::span<const TensorType> inputs,
                   std::size_t count) {
  if (inputs.size() == count) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("{} takes {} inputs", op, count)};
}

template <bool kSparse>
Result<TypeList> infer_loss(std::span<const TensorType> inputs, const Attrs&) {
  constexpr std::string_view kName =
      kSparse ? "sparse_softmax_cross_entropy" : "softmax_cross_entropy";
  PLIMSOLL_RETURN_IF_ERROR(check_count(kName, inputs, 2));
  PLIMSOLL_RETURN_IF_ERROR(
      (kSparse ? check_sparse : check_dense)(kName, inputs[0], inputs[1]));
  return TypeList{{inputs[0].dtype, rows_of(inputs[0].shape)}};
}

// Inputs: dy, logits, labels.
template <bool kSparse>
Result<TypeList> infer_loss_grad(std::span<const TensorType> inputs,
                                 const Attrs&) {
  constexpr std::string_view kName = kSparse
                                         ? "sparse_softmax_cross_entropy_grad"
                                         : "softmax_cross_entropy_grad";
  PLIMSOLL_RETURN_IF_ERROR(check_count(kName, inputs, 3));
  PLIMSOLL_RETURN_IF_ERROR(
      (kSparse ? check_sparse : check_dense)(kName, inputs[1], inputs[2]));
  if (!(inputs[0] == TensorType{inputs[1].dtype, rows_of(inputs[1].shape)})) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: dy {} does not fit logits {}", kName,
                             inputs[0].to_string(), inputs[1].to_string())};
  }
  return TypeList{inputs[1]};
}

Result<TypeList> infer_argmax_equals(std::span<const TensorType> inputs,
                                     const Attrs&) {
  PLIMSOLL_RETURN_IF_ERROR(check_count("argmax_equals", inputs, 2));
  const bool sparse = inputs[1].dtype == DType::i32;
  PLIMSOLL_RETURN_IF_ERROR((sparse ? check_sparse : check_dense)(
      "argmax_equals", inputs[0], inputs[1]));
  return TypeList{{DType::f32, rows_of(inputs[0].shape)}};
}

Cost row_cost(std::span<const TensorType> inputs,
              std::span<const TensorType> outputs, const Attrs&) {
  Cost cost;
  for (const TensorType& input : inputs) {
    cost.flops += 10 * static_cast<double>(input.shape.elements());
  }
  cost.bytes = bytes_of(inputs) + bytes_of(outputs);
  return cost;
}

template <bool kSparse>
Result<std::vector<ValueId>> loss_gradient(GradientContext& context);

template <bool kSparse>
const OpDef& loss_op() {
  static const OpDef op = [] {
    OpDef made;
    made.name =
        kSparse ? "sparse_softmax_cross_entropy" : "softmax_cross_entropy";
    made.infer = infer_loss<kSparse>;
    made.cost = row_cost;
    made.gradient = loss_gradient<kSparse>;
    return made;
  }();
  return op;
}

template <bool kSparse>
const OpDef& loss_grad_op() {
  static const OpDef op = {
      .name = kSparse ? "sparse_softmax_cross_entropy_grad"
                      : "softmax_cross_entropy_grad",
      .infer = infer_loss_grad<kSparse>,
      .cost = row_cost,
      .in_place = {{1, 0}},
  };
  return op;
}

// Softmax is made again from the logits: nothing else is kept for backward.
template <bool kSparse>
Result<std::vector<ValueId>> loss_gradient(GradientContext& context) {
  const graph::Node node = context.builder.graph().node(context.node);
  return std::vector{context.builder.emit(loss_grad_op<kSparse>(),
                                          {context.output_gradients[0],
                                           node.inputs[0], node.inputs[1]}),
                     ValueId()};
}

const OpDef& argmax_equals_op() {
  static const OpDef op = {
      .name = "argmax_equals",
      .infer = infer_argmax_equals,
      .cost = row_cost,
  };
  return op;
}

}  // namespace

ValueId softmax_cross_entropy(Builder& builder, ValueId logits,
                              ValueId labels) {
  return builder.emit(loss_op<false>(), {logits, labels});
}

ValueId sparse_softmax_cross_entropy(Builder& builder, ValueId logits,
                                     ValueId labels) {
  return builder.emit(loss_op<true>(), {logits, labels});
}

ValueId argmax_equals(Builder& builder, ValueId scores, ValueId labels) {
  return builder.emit(argmax_equals_op(), {scores, labels});
}

std::span<const OpDef* const> loss_ops() {
  static const std::array<const OpDef*, 5> ops = {
      &loss_op<false>(), &loss_grad_op<false>(), &loss_op<true>(),
      &loss_grad_op<true>(), &argmax_equals_op()};
  return ops;
}

}  // namespace plimsoll::ops
