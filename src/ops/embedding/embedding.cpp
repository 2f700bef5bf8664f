#include "ops/embedding/embedding.h"

#include <fmt/core.h>

#include <array>

#include "ops/indexing/indexing.h"

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
  return {ErrorCode::bad_input, fmt::format("{}({}): expected {}", op,
                                            graph::to_string(inputs), right)};
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

// Sorting the indices is some tens of steps each.
constexpr double kFlopsOfIndex = 50;

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
  OpDef sgd = make_update<0>("sgd_rows");
  OpDef momentum = make_update<1>("sgd_momentum_rows");
  OpDef adam = make_update<2>("adam_rows");
  OpDef adamw = make_update<2>("adamw_rows");
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
  static const std::array<const OpDef*, 4> all = {&ops.sgd, &ops.momentum,
                                                  &ops.adam, &ops.adamw};
  return all;
}

ValueId embedding(Builder& builder, ValueId table, ValueId indices) {
  if (!builder.ok()) return {};
  const TypeList given = {builder.type(table), builder.type(indices)};
  if (!is_table(given[0]) || !are_indices(given[1])) {
    builder.fail(mistake("embedding", given,
                         "a table [V, D] and indices [B, ...] of i32 or i64"));
    return {};
  }
  return gather(builder, table, indices, 0, false);
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
