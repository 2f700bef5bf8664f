#include "ops/embedding/embedding.h"

#include <fmt/core.h>

#include <vector>

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
template <std::size_t kSlots, bool kWithStep>
struct Order {
  static constexpr bool kStep = kWithStep;
  static constexpr std::size_t kRate = 2 + kSlots;
  static constexpr std::size_t kGate = kRate + (kStep ? 2 : 1);
};

template <std::size_t kSlots, bool kWithStep>
Result<TypeList> infer_update(Types inputs, const Attrs&) {
  using At = Order<kSlots, kWithStep>;
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

decltype(OpDef::infer) infer_of(const UpdateForm& form) {
  if (form.step) return infer_update<2, true>;
  constexpr decltype(OpDef::infer) kByStates[] = {
      infer_update<0, false>, infer_update<1, false>, infer_update<2, false>,
      infer_update<3, false>};
  return kByStates[form.states];
}

OpDef make_update(const UpdateForm& form) {
  OpDef op = make_op(form.rows_op, infer_of(form), update_cost);
  op.in_place = {{0, 0}};
  for (int i = 0; i < form.states; ++i) op.in_place.push_back({i + 2, i + 1});
  // What an update reads is overwritten: it cannot be run a second time.
  op.recomputable = false;
  return op;
}

// In the order of the rules; those without rows stay empty.
const std::vector<OpDef>& definitions() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made;
    for (const UpdateForm& form : kUpdateForms) {
      made.push_back(form.rows_op.empty() ? OpDef() : make_update(form));
    }
    return made;
  }();
  return ops;
}

}  // namespace

std::span<const OpDef* const> embedding_ops() {
  static const std::vector<const OpDef*> all = [] {
    std::vector<const OpDef*> made;
    for (const OpDef& op : definitions()) {
      if (!op.name.empty()) made.push_back(&op);
    }
    return made;
  }();
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

std::vector<ValueId> emit_update_rows(Builder& builder, const UpdateForm& form,
                                      const UpdateInputs& inputs,
                                      ValueId indices, Attrs attrs) {
  std::vector<ValueId> operands = update_operands(form, inputs);
  operands.push_back(indices);
  return builder.emit_all(definitions()[static_cast<std::size_t>(form.rule)],
                          std::move(operands), std::move(attrs));
}

}  // namespace plimsoll::ops
