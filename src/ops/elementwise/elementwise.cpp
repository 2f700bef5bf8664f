#include "ops/elementwise/elementwise.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "ops/elementwise/gradients.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Cost;
using graph::ElementwiseCode;
using graph::ElementwiseExpression;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;

// Rough operations an element, for cost only.
double flops_of(ElementwiseCode code) {
  switch (code) {
    case ElementwiseCode::constant:
    case ElementwiseCode::identity:
      return 0;
    case ElementwiseCode::divide:
    case ElementwiseCode::sqrt:
      return 4;
    case ElementwiseCode::exp:
    case ElementwiseCode::log:
    case ElementwiseCode::sigmoid:
    case ElementwiseCode::tanh:
    case ElementwiseCode::silu:
    case ElementwiseCode::silu_grad:
    case ElementwiseCode::elu:
    case ElementwiseCode::softplus_grad:
    case ElementwiseCode::gelu_tanh:
    case ElementwiseCode::gelu_tanh_grad:
      return 20;
    case ElementwiseCode::gelu:
    case ElementwiseCode::gelu_grad:
    case ElementwiseCode::bce_logits:
    case ElementwiseCode::softplus:
    case ElementwiseCode::power:
    case ElementwiseCode::power_scalar:
      return 40;
    default:
      return 1;
  }
}

double bytes_of(std::span<const TensorType> inputs,
                std::span<const TensorType> outputs) {
  double bytes = 0;
  for (const TensorType& type : inputs) bytes += double(type.bytes());
  for (const TensorType& type : outputs) bytes += double(type.bytes());
  return bytes;
}

Error mismatch(std::string_view op, std::span<const TensorType> inputs,
               std::string_view why) {
  std::string types;
  for (const TensorType& type : inputs) {
    if (!types.empty()) types += ", ";
    types += type.to_string();
  }
  return {ErrorCode::bad_input, fmt::format("{}({}): {}", op, types, why)};
}

// The common type of all inputs, widened by the attributes "shape" and "dtype"
// where they are given.
Result<TensorType> common_type(std::string_view op,
                               std::span<const TensorType> inputs,
                               const Attrs& attrs) {
  TensorType common;
  if (!inputs.empty()) common = inputs[0];
  for (const TensorType& type : inputs) {
    if (type.dtype != common.dtype) {
      return mismatch(op, inputs, "dtypes differ and are not promoted: cast");
    }
    auto shape = broadcast(common.shape, type.shape);
    if (!shape) return mismatch(op, inputs, shape.error().message);
    common.shape = *std::move(shape);
  }
  if (attrs.has("dtype")) {
    const auto dtype = parse_dtype(attrs.get<std::string>("dtype"));
    if (!dtype) return mismatch(op, inputs, "its dtype is unknown");
    if (!inputs.empty() && *dtype != common.dtype) {
      return mismatch(op, inputs, "dtypes differ and are not promoted: cast");
    }
    common.dtype = *dtype;
  }
  if (attrs.has("shape")) {
    const auto shape = attrs.get<Shape>("shape");
    const auto wide = broadcast(common.shape, shape);
    if (!wide || !(*wide == shape)) {
      return mismatch(
          op, inputs,
          fmt::format("cannot be broadcast to {}", shape.to_string()));
    }
    common.shape = shape;
  }
  return common;
}

template <ElementwiseCode code>
Result<TypeList> infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  constexpr auto op = code;
  if (inputs.size() != static_cast<std::size_t>(graph::arity_of(op))) {
    return mismatch(graph::name_of(op), inputs,
                    fmt::format("takes {} operands", graph::arity_of(op)));
  }
  // The gradient tells the sides apart by the sign of y.
  if ((op == ElementwiseCode::elu || op == ElementwiseCode::elu_grad) &&
      !(attrs.get<double>("scalar") >= 0)) {
    return mismatch(graph::name_of(op), inputs,
                    fmt::format("alpha is {}, but must be at least 0",
                                attrs.get<double>("scalar")));
  }
  PLIMSOLL_ASSIGN(TensorType type,
                  common_type(graph::name_of(op), inputs, attrs));
  return TypeList{std::move(type)};
}

template <ElementwiseCode code>
Cost cost(std::span<const TensorType> inputs,
          std::span<const TensorType> outputs, const Attrs&) {
  return {flops_of(code) * double(outputs[0].shape.elements()),
          bytes_of(inputs, outputs)};
}

template <ElementwiseCode code>
OpDef definition() {
  OpDef op;
  op.name = graph::name_of(code);
  op.infer = infer<code>;
  op.cost = cost<code>;
  if (graph::arity_of(code) > 0) op.gradient = elementwise_gradient;
  for (int i = 0; i < graph::arity_of(code); ++i) op.in_place.push_back({i, 0});
  op.elementwise = code;
  return op;
}

template <std::size_t... codes>
std::array<OpDef, sizeof...(codes)> definitions(std::index_sequence<codes...>) {
  return {definition<static_cast<ElementwiseCode>(codes)>()...};
}

const std::array<OpDef, graph::kElementwiseCodes>& table() {
  static const auto ops =
      definitions(std::make_index_sequence<graph::kElementwiseCodes>());
  return ops;
}

// Operands that exist when they are read, as many as each code takes.
bool well_formed(const ElementwiseExpression& expression) {
  int known = expression.inputs;
  for (const auto& step : expression.instructions) {
    if (static_cast<int>(step.code) >= graph::kElementwiseCodes) return false;
    const int arity = graph::arity_of(step.code);
    if (arity > 0 && (step.a < 0 || step.a >= known)) return false;
    if (arity > 1 && (step.b < 0 || step.b >= known)) return false;
    if (arity > 2 && (step.c < 0 || step.c >= known)) return false;
    ++known;
  }
  for (const int result : expression.results) {
    if (result < 0 || result >= known) return false;
  }
  return !expression.results.empty();
}

// Operands and outputs of f32, bf16 and f16 side by side: all of it is computed
// in f32 and rounded where it is written.
Result<TypeList> infer_mixed(std::span<const TensorType> inputs,
                             const Attrs& attrs, std::size_t results) {
  TypeList same(inputs.begin(), inputs.end());
  for (TensorType& type : same) {
    if (!is_floating(type.dtype) || type.dtype == DType::f64) {
      return mismatch("fused", inputs, "only f32, bf16 and f16 can be mixed");
    }
    type.dtype = DType::f32;
  }
  PLIMSOLL_ASSIGN(TensorType type, common_type("fused", same, attrs));
  TypeList outputs;
  for (const std::int64_t code :
       attrs.get<std::vector<std::int64_t>>("dtypes")) {
    type.dtype = static_cast<DType>(code);
    if (code < 0 || !is_floating(type.dtype) || type.dtype == DType::f64) {
      return mismatch("fused", inputs, "only f32, bf16 and f16 can be mixed");
    }
    outputs.push_back(type);
  }
  if (outputs.size() != results) {
    return mismatch("fused", inputs, "its expression is not well formed");
  }
  return outputs;
}

Result<TypeList> infer_fused(std::span<const TensorType> inputs,
                             const Attrs& attrs) {
  const ElementwiseExpression expression = graph::expression_of(attrs);
  if (!well_formed(expression) ||
      inputs.size() != static_cast<std::size_t>(expression.inputs)) {
    return mismatch("fused", inputs, "its expression is not well formed");
  }
  if (!attrs.has("dtypes")) {
    PLIMSOLL_ASSIGN(const TensorType type, common_type("fused", inputs, attrs));
    return TypeList(expression.results.size(), type);
  }
  return infer_mixed(inputs, attrs, expression.results.size());
}

Cost cost_fused(std::span<const TensorType> inputs,
                std::span<const TensorType> outputs, const Attrs& attrs) {
  double flops = 0;
  for (const auto& step : graph::expression_of(attrs).instructions) {
    flops += flops_of(step.code);
  }
  return {flops * double(outputs[0].shape.elements()),
          bytes_of(inputs, outputs)};
}

}  // namespace

const OpDef& elementwise_op(ElementwiseCode code) {
  return table()[static_cast<std::size_t>(code)];
}

const OpDef& fused_op() {
  static const OpDef op = [] {
    OpDef fused;
    fused.name = "fused";
    fused.infer = infer_fused;
    fused.cost = cost_fused;
    // As many pairs as the fusion pass makes operands; readers of this list
    // skip those a node does not have.
    for (int output = 0; output < 8; ++output) {
      for (int input = 0; input < 16; ++input) {
        fused.in_place.push_back({input, output});
      }
    }
    return fused;
  }();
  return op;
}

std::span<const OpDef* const> elementwise_ops() {
  static const auto ops = [] {
    std::array<const OpDef*, graph::kElementwiseCodes + 1> all{};
    for (std::size_t i = 0; i < table().size(); ++i) all[i] = &table()[i];
    all.back() = &fused_op();
    return all;
  }();
  return ops;
}

ElementwiseExpression expression_of(const OpDef& op, const Attrs& attrs) {
  if (!op.elementwise) return graph::expression_of(attrs);
  const int arity = graph::arity_of(*op.elementwise);
  return {arity,
          {{*op.elementwise, arity > 0 ? 0 : -1, arity > 1 ? 1 : -1,
            attrs.get<double>("scalar"), arity > 2 ? 2 : -1}},
          {arity}};
}

}  // namespace plimsoll::ops
