#include "ops/embedding/embedding.h"

#include <fmt/core.h>

#include <array>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::Cost;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

using Types = std::span<const TensorType>;

Error mistake(std::string_view op, Types inputs, std::string_view right) {
  std::string given;
  for (const TensorType& type : inputs) {
    given += (given.empty() ? "" : ", ") + type.to_string();
  }
  return {ErrorCode::bad_input,
          fmt::format("{}({}): expected {}", op, given, right)};
}

bool are_indices(const TensorType& type) {
  return type.dtype == DType::i32 || type.dtype == DType::i64;
}

bool is_table(const TensorType& type) {
  return is_floating(type.dtype) && type.shape.rank() == 2 &&
         type.shape.is_fixed() && type.shape.extent(0) > 0 &&
         type.shape.extent(1) > 0;
}

// One row of `width` for each index.
Shape rows_of(const TensorType& indices, std::int64_t width) {
  std::vector<Dim> dims = indices.shape.dims();
  dims.emplace_back(width);
  return Shape(std::move(dims));
}

double bytes_of(Types types) {
  double bytes = 0;
  for (const TensorType& type : types) {
    bytes += static_cast<double>(type.bytes());
  }
  return bytes;
}

Result<TypeList> infer_embedding(Types inputs, const Attrs&) {
  if (inputs.size() != 2 || !is_table(inputs[0]) || !are_indices(inputs[1])) {
    return mistake("embedding", inputs,
                   "a table [V, D] and indices [B, ...] of i32 or i64");
  }
  return TypeList{
      {inputs[0].dtype, rows_of(inputs[1], inputs[0].shape.extent(1))}};
}

Cost embedding_cost(Types inputs, Types outputs, const Attrs&) {
  return {0, bytes_of(inputs.subspan(1)) + 2 * bytes_of(outputs)};
}

Result<std::vector<ValueId>> embedding_gradient(
    graph::GradientContext& context) {
  const graph::Node& node = context.builder.graph().node(context.node);
  const ValueId indices = node.inputs[1];
  const std::int64_t rows =
      context.builder.type(node.inputs[0]).shape.extent(0);
  return std::vector{embedding_grad(context.builder,
                                    context.output_gradients[0], indices, rows),
                     ValueId()};
}

Result<TypeList> infer_grad(Types inputs, const Attrs& attrs) {
  const bool right =
      inputs.size() == 2 && is_floating(inputs[0].dtype) &&
      inputs[0].shape.rank() > 0 && inputs[0].shape.extent(-1) > 0 &&
      are_indices(inputs[1]) && attrs.get<std::int64_t>("rows") > 0 &&
      inputs[0].shape == rows_of(inputs[1], inputs[0].shape.extent(-1));
  if (!right) {
    return mistake("embedding_grad", inputs,
                   "dy [B, ..., D], indices [B, ...] of i32 or i64, and the "
                   "number of rows as an attribute");
  }
  return TypeList{{inputs[0].dtype, Shape{attrs.get<std::int64_t>("rows"),
                                          inputs[0].shape.extent(-1)}}};
}

// Sorting the indices is some tens of steps each.
constexpr double kFlopsOfIndex = 50;

Cost grad_cost(Types inputs, Types outputs, const Attrs&) {
  const auto added = static_cast<double>(inputs[0].shape.elements());
  const auto count = static_cast<double>(inputs[1].shape.elements());
  return {added + kFlopsOfIndex * count, bytes_of(inputs) + bytes_of(outputs)};
}

// Where the inputs of an update of `kSlots` states stand: those of the dense
// update, perhaps with a gate, and the indices behind them.
template <std::size_t kSlots>
struct Order {
  static constexpr bool kStep = kSlots == 2;
  static constexpr std::size_t kRate = 2 + kSlots;
  static constexpr std::size_t kGate = kRate + (kStep ? 2 : 1);
};

template <std::size_t kSlots>
Result<TypeList> infer_update(Types inputs, const Attrs&) {
  using At = Order<kSlots>;
  const bool gated = inputs.size() == At::kGate + 2;
  bool right = gated || inputs.size() == At::kGate + 1;
  if (right) {
    const TensorType& table = inputs[0];
    const TensorType scalar{table.dtype, Shape{}};
    right =
        is_trainable(table.dtype) && is_table(table) &&
        are_indices(inputs.back()) &&
        inputs[1] == TensorType{table.dtype, rows_of(inputs.back(),
                                                     table.shape.extent(1))} &&
        inputs[At::kRate] == scalar && (!gated || inputs[At::kGate] == scalar);
    for (std::size_t i = 2; i < At::kRate; ++i) {
      right = right && inputs[i] == table;
    }
    if (At::kStep) {
      right = right && inputs[At::kRate + 1] == TensorType{DType::i64, Shape{}};
    }
  }
  if (!right) {
    return mistake(
        "update of rows", inputs,
        fmt::format(
            "a table [V, D] of f32 or f64, dy [B, ..., D], {} states "
            "of the table's type, a rate{}, perhaps a gate, and indices "
            "[B, ...] of i32 or i64",
            kSlots, At::kStep ? ", an i64 step" : ""));
  }
  return TypeList(kSlots + 1, inputs[0]);
}

// As if every index named another row.
Cost update_cost(Types inputs, Types outputs, const Attrs&) {
  const auto elements = static_cast<double>(inputs[1].shape.elements());
  const auto count = static_cast<double>(inputs.back().shape.elements());
  const auto tables = static_cast<double>(outputs.size());
  return {4 * tables * elements + kFlopsOfIndex * count,
          (1 + 2 * tables) * static_cast<double>(inputs[1].bytes()) +
              static_cast<double>(inputs.back().bytes())};
}

OpDef make_op(std::string_view name, decltype(OpDef::infer) infer,
              decltype(OpDef::cost) cost) {
  OpDef op;
  op.name = name;
  op.infer = infer;
  op.cost = cost;
  return op;
}

template <std::size_t kSlots>
OpDef make_update(std::string_view name) {
  OpDef op = make_op(name, infer_update<kSlots>, update_cost);
  op.in_place = {{0, 0}};
  for (int i = 0; i < static_cast<int>(kSlots); ++i) {
    op.in_place.push_back({i + 2, i + 1});
  }
  // What an update reads is overwritten: it cannot be run a second time.
  op.recomputable = false;
  return op;
}

struct Ops {
  OpDef embedding = make_op("embedding", infer_embedding, embedding_cost);
  OpDef grad = make_op("embedding_grad", infer_grad, grad_cost);
  OpDef sgd = make_update<0>("sgd_rows");
  OpDef momentum = make_update<1>("sgd_momentum_rows");
  OpDef adam = make_update<2>("adam_rows");
  OpDef adamw = make_update<2>("adamw_rows");
  Ops() { embedding.gradient = embedding_gradient; }
};

const Ops& definitions() {
  static const Ops ops;
  return ops;
}

Attrs attrs_of(const AdamSettings& settings) {
  return {{"beta_1", settings.beta_1},
          {"beta_2", settings.beta_2},
          {"epsilon", settings.epsilon}};
}

std::vector<ValueId> with_indices(std::vector<ValueId> inputs, ValueId gate,
                                  ValueId indices) {
  if (gate.valid()) inputs.push_back(gate);
  inputs.push_back(indices);
  return inputs;
}

AdamUpdate emit_adam(Builder& builder, const OpDef& op,
                     std::vector<ValueId> inputs, Attrs attrs) {
  const auto out = builder.emit_all(op, std::move(inputs), std::move(attrs));
  return out.empty() ? AdamUpdate{} : AdamUpdate{out[0], out[1], out[2]};
}

}  // namespace

std::span<const OpDef* const> embedding_ops() {
  static const Ops& ops = definitions();
  static const std::array<const OpDef*, 6> all = {&ops.embedding, &ops.grad,
                                                  &ops.sgd,       &ops.momentum,
                                                  &ops.adam,      &ops.adamw};
  return all;
}

ValueId embedding(Builder& builder, ValueId table, ValueId indices) {
  return builder.emit(definitions().embedding, {table, indices});
}

ValueId embedding_grad(Builder& builder, ValueId dy, ValueId indices,
                       std::int64_t rows) {
  return builder.emit(definitions().grad, {dy, indices}, {{"rows", rows}});
}

ValueId sgd_rows(Builder& builder, ValueId table, ValueId dy, ValueId rate,
                 ValueId indices, ValueId gate) {
  return builder.emit(definitions().sgd,
                      with_indices({table, dy, rate}, gate, indices));
}

MomentumUpdate sgd_momentum_rows(Builder& builder, ValueId table, ValueId dy,
                                 ValueId velocity, ValueId rate,
                                 ValueId indices, double momentum,
                                 ValueId gate) {
  const auto out =
      builder.emit_all(definitions().momentum,
                       with_indices({table, dy, velocity, rate}, gate, indices),
                       {{"momentum", momentum}});
  return out.empty() ? MomentumUpdate{} : MomentumUpdate{out[0], out[1]};
}

AdamUpdate adam_rows(Builder& builder, ValueId table, ValueId dy,
                     ValueId first_moment, ValueId second_moment, ValueId rate,
                     ValueId step, ValueId indices,
                     const AdamSettings& settings, ValueId gate) {
  return emit_adam(
      builder, definitions().adam,
      with_indices({table, dy, first_moment, second_moment, rate, step}, gate,
                   indices),
      attrs_of(settings));
}

AdamUpdate adamw_rows(Builder& builder, ValueId table, ValueId dy,
                      ValueId first_moment, ValueId second_moment, ValueId rate,
                      ValueId step, ValueId indices, double weight_decay,
                      const AdamSettings& settings, ValueId gate) {
  Attrs attrs = attrs_of(settings);
  attrs.set("weight_decay", weight_decay);
  return emit_adam(
      builder, definitions().adamw,
      with_indices({table, dy, first_moment, second_moment, rate, step}, gate,
                   indices),
      std::move(attrs));
}

}  // namespace plimsoll::ops
