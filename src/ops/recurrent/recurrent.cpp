#include "ops/recurrent/recurrent.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/movement/window.h"
#include "ops/recurrent/recurrent_shape.h"
#include "ops/reduction/reduction.h"

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

using Types = std::span<const TensorType>;

constexpr std::string_view name_of_op(CellKind kind, bool gradient) {
  if (kind == CellKind::lstm) return gradient ? "lstm_grad" : "lstm";
  return gradient ? "gru_grad" : "gru";
}

constexpr std::string_view rule_of(CellKind kind, bool gradient) {
  if (kind == CellKind::lstm) {
    return gradient ? "dy [B, T, H], u [H, 4H], cells [B, T, H] and gates "
                      "[B, T, 4H]"
                    : "gates [B, T, 4H] and u [H, 4H]";
  }
  return gradient ? "dy [B, T, H], u [H, 3H], states [B, T, H], candidates "
                    "[B, T, H] and gates [B, T, 3H]"
                  : "gates [B, T, 3H], u [H, 3H] and a recurrent bias [3H]";
}

Error mistake(CellKind kind, bool gradient, Types inputs, Types wanted) {
  std::string message = fmt::format(
      "{}({}): takes {} of one floating dtype", name_of_op(kind, gradient),
      graph::to_string(inputs), rule_of(kind, gradient));
  if (!wanted.empty())
    message += fmt::format(": here {}", graph::to_string(wanted));
  return {ErrorCode::bad_input, std::move(message)};
}

// What all inputs and outputs are made of.
struct Parts {
  TensorType states;  // [B, T, H]
  TensorType kept;    // likewise: cells, or the candidates' products
  TensorType gates;   // [B, T, gates * H]
  TensorType u;
  TensorType bias;
};

TypeList inputs_of(CellKind kind, bool gradient, const Parts& parts) {
  if (kind == CellKind::lstm) {
    return gradient ? TypeList{parts.states, parts.u, parts.kept, parts.gates}
                    : TypeList{parts.gates, parts.u};
  }
  return gradient ? TypeList{parts.states, parts.u, parts.states, parts.kept,
                             parts.gates}
                  : TypeList{parts.gates, parts.u, parts.bias};
}

TypeList outputs_of(CellKind kind, bool gradient, const Parts& parts) {
  if (!gradient) return {parts.states, parts.kept, parts.gates};
  if (kind == CellKind::lstm) return {parts.gates};
  return {parts.gates, parts.gates};
}

template <CellKind kKind, bool kGradient>
Result<TypeList> infer(Types inputs, const Attrs&) {
  if (inputs.size() < 2 || !is_floating(inputs[0].dtype) ||
      inputs[0].shape.rank() != 3 || inputs[0].shape[1].per_batch ||
      inputs[0].shape.extent(1) < 1 || inputs[1].shape.rank() != 2 ||
      inputs[1].shape[0].per_batch || inputs[1].shape.extent(0) < 1) {
    return mistake(kKind, kGradient, inputs, {});
  }
  const DType dtype = inputs[0].dtype;
  const Dim batch = inputs[0].shape[0];
  const Dim steps = inputs[0].shape[1];
  const std::int64_t hidden = inputs[1].shape.extent(0);
  const std::int64_t width = gates_of(kKind) * hidden;
  Parts parts;
  parts.states = {dtype, {batch, steps, hidden}};
  parts.kept = parts.states;
  if (kKind == CellKind::lstm) parts.kept.dtype = wide_dtype(dtype);
  parts.gates = {dtype, {batch, steps, width}};
  parts.u = {dtype, {hidden, width}};
  parts.bias = {dtype, {width}};
  const TypeList wanted = inputs_of(kKind, kGradient, parts);
  if (!std::equal(inputs.begin(), inputs.end(), wanted.begin(), wanted.end())) {
    return mistake(kKind, kGradient, inputs, wanted);
  }
  return outputs_of(kKind, kGradient, parts);
}

template <CellKind kKind, bool kGradient>
Cost cost(Types inputs, Types outputs, const Attrs&) {
  const RecurrentShape shape =
      recurrent_shape(name_of_op(kKind, kGradient), inputs);
  constexpr double kGateFlops = 20;
  Cost all;
  all.flops =
      static_cast<double>(shape.steps) *
      (shape.step_flops() + kGateFlops * static_cast<double>(shape.batch) *
                                static_cast<double>(shape.width()));
  all.bytes = bytes_of(inputs) + bytes_of(outputs);
  return all;
}

template <CellKind kKind>
const OpDef& grad_op() {
  // The sums' gradients in the place of the gates.
  static const OpDef op = {
      .name = name_of_op(kKind, true),
      .infer = infer<kKind, true>,
      .cost = cost<kKind, true>,
      .in_place = {{kKind == CellKind::lstm ? 3 : 4, 0}},
  };
  return op;
}

// Of the recurrent kernel: one product over all steps, of the states before
// each step and the gradients of its sums.
ValueId kernel_gradient(Builder& builder, ValueId states, ValueId sums,
                        ValueId u) {
  const Shape shape = builder.type(states).shape;
  const std::int64_t steps = shape.extent(1);
  if (steps == 1) return constant(builder, builder.type(u), 0);
  const auto rows = [&](ValueId value) {
    const Shape of = builder.type(value).shape;
    const Dim count(of[0].size * steps, of[0].per_batch);
    return reshape(builder, value, {count, of[2]});
  };
  const ValueId before = pad(
      builder, slice(builder, states, {0, 0, 0}, {kToEnd, steps - 1, kToEnd}),
      {0, 1, 0}, {0, 0, 0});
  if (!builder.ok()) return {};
  return matmul(builder, rows(before), rows(sums), true, false);
}

template <CellKind kKind>
Result<std::vector<ValueId>> gradient(GradientContext& context) {
  Builder& builder = context.builder;
  // A copy: building nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  const auto flows = context.output_gradients;
  if (!flows[0].valid() || flows[1].valid() || flows[2].valid()) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: gradients of `{}` flow back from the hidden "
                             "states alone",
                             node.name, node.op->name)};
  }
  std::vector<ValueId> inputs = {flows[0], node.inputs[1]};
  if (kKind == CellKind::gru) inputs.push_back(node.outputs[0]);
  inputs.push_back(node.outputs[1]);
  inputs.push_back(node.outputs[2]);
  const auto made = builder.emit_all(grad_op<kKind>(), inputs);
  if (made.empty()) return builder.status().error();
  const ValueId sums = made.back();
  std::vector<ValueId> gradients = {
      made[0], kernel_gradient(builder, node.outputs[0], sums, node.inputs[1])};
  if (kKind == CellKind::gru) {
    gradients.push_back(reduce_sum(builder, sums, {0, 1}));
  }
  if (!builder.ok()) return builder.status().error();
  return gradients;
}

template <CellKind kKind>
const OpDef& forward_op() {
  static const OpDef op = {
      .name = name_of_op(kKind, false),
      .infer = infer<kKind, false>,
      .cost = cost<kKind, false>,
      .gradient = gradient<kKind>,
      .in_place = {{0, 2}},  // the gates in the place of their sums
  };
  return op;
}

template <CellKind kKind>
ValueId emit(Builder& builder, std::vector<ValueId> inputs) {
  const auto made = builder.emit_all(forward_op<kKind>(), std::move(inputs));
  return made.empty() ? ValueId() : made[0];
}

}  // namespace

ValueId lstm(Builder& builder, ValueId gates, ValueId u) {
  return emit<CellKind::lstm>(builder, {gates, u});
}

ValueId gru(Builder& builder, ValueId gates, ValueId u,
            ValueId recurrent_bias) {
  return emit<CellKind::gru>(builder, {gates, u, recurrent_bias});
}

std::span<const OpDef* const> recurrent_ops() {
  static const std::array<const OpDef*, 4> ops = {
      &forward_op<CellKind::lstm>(), &grad_op<CellKind::lstm>(),
      &forward_op<CellKind::gru>(), &grad_op<CellKind::gru>()};
  return ops;
}

}  // namespace plimsoll::ops
