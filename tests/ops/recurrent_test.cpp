// What records cannot say of recurrent ops: levels of instructions, an unrolled
// graph of other ops, and refusals.
#include "ops/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "graph/autodiff.h"
#include "ops/cpu_kernels.h"
#include "ops/cuda_kernels.h"
#include "ops/elementwise/elementwise.h"
#include "ops/harness.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/join.h"
#include "ops/movement/movement.h"
#include "ops/movement/window.h"
#include "ops/recurrent/recurrent_loops.h"
#include "ops/recurrent/recurrent_split.h"
#include "ops/reduction/reduction.h"
#include "ops/registry.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::TensorType;
using graph::ValueId;

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kHidden = 5;

// Step by step out of products and element-wise ops.
ValueId unrolled(Builder& builder, ValueId gates, ValueId u, ValueId bias) {
  const bool is_lstm = !bias.valid();
  const std::int64_t count = is_lstm ? 4 : 3;
  ValueId h, c;
  std::vector<ValueId> states;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const ValueId x = reshape(
        builder, slice(builder, gates, {0, t, 0}, {kToEnd, t + 1, kToEnd}),
        {Dim::batch(), count * kHidden});
    const auto part = [&](ValueId of, std::int64_t g) {
      return slice(builder, of, {0, g * kHidden}, {kToEnd, (g + 1) * kHidden});
    };
    if (is_lstm) {
      const ValueId sum = t == 0 ? x : add(builder, x, matmul(builder, h, u));
      const ValueId i = sigmoid(builder, part(sum, 0));
      const ValueId f = sigmoid(builder, part(sum, 1));
      const ValueId g = tanh(builder, part(sum, 2));
      const ValueId o = sigmoid(builder, part(sum, 3));
      const ValueId fresh = multiply(builder, i, g);
      c = t == 0 ? fresh : add(builder, multiply(builder, f, c), fresh);
      h = multiply(builder, o, tanh(builder, c));
    } else {
      const ValueId before =
          t > 0 ? h
                : constant(builder, {DType::f64, {Dim::batch(), kHidden}}, 0);
      const ValueId m = add(builder, matmul(builder, before, u), bias);
      const auto both = [&](std::int64_t g) {
        return sigmoid(builder, add(builder, part(x, g), part(m, g)));
      };
      const ValueId z = both(0), r = both(1);
      const ValueId n = tanh(
          builder, add(builder, part(x, 2), multiply(builder, r, part(m, 2))));
      h = add(builder, n, multiply(builder, z, subtract(builder, before, n)));
    }
    states.push_back(h);
  }
  return stack(builder, states, 1);
}

RefTensor random_tensor(const TensorType& type, std::uint64_t stream) {
  RefTensor tensor{type, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const auto words = philox(5, stream, static_cast<std::uint64_t>(i));
    tensor.values.push_back(2 * uniform_double(words[0], words[1]) - 1);
  }
  return tensor;
}

// Hidden states and the gradients of all inputs, by either way.
std::vector<RefTensor> states_and_gradients(bool is_lstm, bool whole) {
  const std::int64_t width = (is_lstm ? 4 : 3) * kHidden;
  Builder builder;
  std::vector<TensorType> types = {{DType::f64, {Dim::batch(), kSteps, width}},
                                   {DType::f64, {kHidden, width}}};
  if (!is_lstm) types.push_back({DType::f64, {width}});
  std::vector<ValueId> inputs;
  for (const TensorType& type : types) {
    inputs.push_back(builder.input("x", type));
  }
  const ValueId bias = is_lstm ? ValueId() : inputs[2];
  ValueId y;
  if (!whole) {
    y = unrolled(builder, inputs[0], inputs[1], bias);
  } else if (is_lstm) {
    y = lstm(builder, inputs[0], inputs[1]);
  } else {
    y = gru(builder, inputs[0], inputs[1], bias);
  }
  EXPECT_TRUE(builder.ok()) << builder.status().error().message;
  const ValueId weights = builder.input("w", builder.type(y));
  const ValueId loss = reduce_sum(builder, multiply(builder, y, weights), {});
  const ValueId seed = builder.input("seed", builder.type(loss));
  const auto gradients =
      graph::add_gradients(builder, loss, seed, inputs, standard_ops());
  EXPECT_TRUE(gradients) << gradients.error().message;
  std::vector<RefTensor> fed;
  for (const TensorType& type : types) {
    fed.push_back(random_tensor(type.at(kBatch), fed.size()));
  }
  fed.push_back(random_tensor(builder.type(y).at(kBatch), 9));
  fed.push_back({builder.type(loss), {1.0}});
  auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph) << graph.error().message;
  ComputeThreads threads(2);
  const auto values = run_graph(*graph, kBatch, fed, threads);
  EXPECT_TRUE(values) << values.error().message;
  std::vector<RefTensor> all = {(*values)[y.pos()]};
  for (const ValueId id : *gradients) all.push_back((*values)[id.pos()]);
  return all;
}

TEST(Recurrent, AgreesWithAnUnrolledGraph) {
  for (const bool is_lstm : {true, false}) {
    const auto whole = states_and_gradients(is_lstm, true);
    const auto steps = states_and_gradients(is_lstm, false);
    EXPECT_EQ(compare(is_lstm ? "lstm" : "gru", whole, steps, 1e-13),
              Mistakes());
  }
}

template <class T>
std::vector<std::byte> results(const RecurrentLoops<T>& loops, bool is_lstm) {
  using C = Computed<T>;
  constexpr std::int64_t kUnits = 83;
  constexpr std::size_t kCount = 4 * kUnits;
  std::vector<C> numbers;
  for (std::size_t i = 0; i < kCount; ++i) {
    numbers.push_back(4 * static_cast<C>(uniform_float(philox(1, 2, i)[0])) -
                      2);
  }
  std::vector<T> stored(kCount), states(kUnits), gates(kCount);
  std::vector<T> candidates(kUnits), drecurrent(kCount), dsums(kCount);
  std::vector<C> wide_states(kUnits), cells(kUnits), wide(kCount);
  std::vector<C> carry(numbers.begin(), numbers.begin() + kUnits);
  // What is stored: bits of numbers that every type can hold.
  for (std::size_t i = 0; i < kCount; ++i) {
    if constexpr (sizeof(T) == 2) {
      stored[i].bits = static_cast<std::uint16_t>(0x3000 + 37 * i % 0x0c00);
    } else {
      stored[i] = numbers[i];
    }
  }
  RecurrentForward<T> forward;
  forward.rows = 1;
  forward.units = forward.hidden = forward.state_row = kUnits;
  forward.sums = stored.data();
  forward.product = numbers.data();
  forward.before = numbers.data() + 7;
  forward.states = states.data();
  forward.wide_states = wide_states.data();
  forward.cells = cells.data();
  forward.candidate_sums = candidates.data();
  forward.gates = gates.data();
  RecurrentBackward<T> backward;
  backward.rows = 1;
  backward.units = backward.hidden = backward.state_row = kUnits;
  backward.dy = stored.data();
  backward.product = numbers.data();
  backward.gates = gates.data();
  backward.cells = cells.data();
  backward.cells_before = numbers.data() + 7;
  backward.states_before = stored.data() + 5;
  backward.candidate_sums = candidates.data();
  backward.carry = carry.data();
  backward.dsums = dsums.data();
  backward.drecurrent = drecurrent.data();
  backward.wide = wide.data();
  if (is_lstm) {
    loops.lstm(forward);
    loops.lstm_grad(backward);
  } else {
    loops.gru(forward);
    loops.gru_grad(backward);
  }
  std::vector<std::byte> all;
  const auto keep = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    all.insert(all.end(), bytes, bytes + values.size() * sizeof(values[0]));
  };
  keep(states);
  keep(gates);
  keep(wide_states);
  keep(cells);
  keep(candidates);
  keep(carry);
  keep(dsums);
  keep(drecurrent);
  keep(wide);
  return all;
}

TEST(Recurrent, LevelsOfInstructionsGiveTheSameBits) {
  std::vector<RecurrentTables> levels = {isa_baseline::recurrent_tables()};
#if defined(__x86_64__)
  if (best_isa() >= Isa::v3) levels.push_back(isa_v3::recurrent_tables());
  if (best_isa() >= Isa::v4) levels.push_back(isa_v4::recurrent_tables());
#endif
  for (const RecurrentTables& level : levels) {
    for (const bool is_lstm : {true, false}) {
      EXPECT_EQ(results(level.f32, is_lstm), results(levels[0].f32, is_lstm));
      EXPECT_EQ(results(level.f64, is_lstm), results(levels[0].f64, is_lstm));
      EXPECT_EQ(results(level.bf16, is_lstm), results(levels[0].bf16, is_lstm));
      EXPECT_EQ(results(level.f16, is_lstm), results(levels[0].f16, is_lstm));
    }
  }
}

TEST(Recurrent, WhatIsNotANumberStaysInItsRow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ComputeThreads threads(2);
  RefTensor gates = random_tensor({DType::f32, {2, 3, 8}}, 1);
  const RefTensor u = random_tensor({DType::f32, {2, 8}}, 2);
  gates.values[8] = nan;  // step 1 of the first row
  const auto got = run_op(*find_op("lstm"), {}, {gates, u}, threads);
  ASSERT_TRUE(got) << got.error().message;
  for (std::size_t i = 0; i < 12; ++i) {
    const bool lost = i == 2 || i == 4 || i == 5;
    EXPECT_EQ(std::isnan((*got)[0].values[i]), lost) << i;
  }
}

TEST(Recurrent, FewRowsAreCutByUnits) {
  RecurrentShape shape;
  shape.steps = 10;
  shape.batch = 1;
  shape.hidden = 1024;
  EXPECT_EQ(recurrent_split(shape, 4).units, 4);
  shape.batch = 64;
  shape.hidden = 64;
  EXPECT_EQ(recurrent_split(shape, 4).units, 1);
  EXPECT_EQ(recurrent_split(shape, 4).rows, 4);
  shape.batch = 0;
  EXPECT_EQ(recurrent_split(shape, 4).rows, 1);
}

TEST(Recurrent, StagesDoNotGrowWithSteps) {
  const graph::TypeList inputs = {{DType::f32, {8, 1000, 256}},
                                  {DType::f32, {64, 256}}};
  const graph::OpDef& op = *find_op("lstm");
  const auto outputs = op.infer(inputs, {});
  ASSERT_TRUE(outputs) << outputs.error().message;
  const graph::Attrs attrs;
  DeviceProfile profile;
  const CudaCatalog catalog(profile, {});
  const graph::KernelQuery query{&op, inputs, *outputs, &attrs};
  const auto code = catalog.code(query);
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(code->stages.size(), 1u);
  // Steps wait for each other: rates alone say nothing of the time.
  const auto offered = catalog.candidates(query);
  ASSERT_TRUE(offered) << offered.error().message;
  EXPECT_GT(offered->front().seconds, 1000 * 1e-6);
}

std::string refusal(std::string_view op, const graph::TypeList& inputs) {
  const auto made = find_op(op)->infer(inputs, {});
  return made ? "taken" : made.error().message;
}

TEST(Recurrent, RefusesWhatDoesNotFitTogether) {
  const std::string wrong = refusal(
      "lstm", {{DType::f32, {Dim::batch(), 3, 12}}, {DType::f32, {4, 16}}});
  EXPECT_NE(wrong.find("lstm(f32[B, 3, 12], f32[4, 16])"), std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find("f32[B, 3, 16]"), std::string::npos) << wrong;
  const graph::TensorType gates{DType::f32, {2, 3, 12}};
  const graph::TensorType u{DType::f32, {4, 12}};
  EXPECT_NE(refusal("gru", {gates, u}).find("recurrent bias [3H]"),
            std::string::npos);
  EXPECT_NE(refusal("gru", {gates, u, {DType::f64, {12}}}).find("f64[12]"),
            std::string::npos);
  EXPECT_EQ(refusal("gru", {gates, u, {DType::f32, {12}}}), "taken");
  EXPECT_NE(refusal("lstm", {{DType::i32, {2, 3, 16}}, {DType::i32, {4, 16}}})
                .find("i32"),
            std::string::npos);
  EXPECT_NE(refusal("lstm", {{DType::f32, {2, 16}}, {DType::f32, {4, 16}}}),
            "taken");
}

}  // namespace
}  // namespace plimsoll::ops::testing
