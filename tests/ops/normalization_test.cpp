// What records cannot say of normalization: storage in bf16 and f16, hard
// inputs, refusals, and moving averages.
#include "ops/normalization/normalization.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "base/philox.h"
#include "graph/autodiff.h"
#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/normalization/channel_norm_loops.h"
#include "ops/normalization/row_norm_loops.h"
#include "ops/reduction/reduction.h"
#include "ops/registry.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;

// Statistics stay f32: in bf16 the mean of many values would be lost.
TEST(Normalization, KeepsStatisticsInF32) {
  const OpRecord record = [] {
    for (const OpRecord& any : normalization_records()) {
      if (any.name == "batch_norm_rows") return any;
    }
    return OpRecord();
  }();
  ASSERT_NE(record.op, nullptr);
  const Result<Case> test = make_case(record, DType::bf16);
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_EQ(test->outputs[0].dtype, DType::bf16);
  for (const std::size_t i : {1u, 2u, 3u}) {
    EXPECT_EQ(test->outputs[i].dtype, DType::f32);
  }
}

// Rows of padding before rows far from zero: no part of the sum stands for
// the others.
TEST(Normalization, PaddingBeforeLargeValuesCostsNoDigits) {
  constexpr std::int64_t kRows = 5000;
  std::vector<double> x;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const double value = 1000 + 0.25 * static_cast<double>(i * 7 % 11);
    x.push_back(i < kRows / 2 ? 0.0 : value);
  }
  graph::Attrs attrs{{"epsilon", 1e-3}, {"scale", false}, {"center", false}};
  const RefTensor input = tensor_of(DType::f32, {kRows, 1}, x);
  const graph::OpDef& op = *find_op("batch_norm");
  ComputeThreads threads(2);
  const auto got = run_op(op, attrs, {input}, threads);
  ASSERT_TRUE(got) << got.error().message;
  std::vector<RefTensor> want = *got;
  find_reference("batch_norm")({input}, attrs, want);
  EXPECT_EQ(compare("padding", *got, want, 1e-6), Mistakes());
}

TEST(Normalization, WhatIsNotANumberStaysInItsPiece) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ComputeThreads threads(2);
  const graph::Attrs attrs{
      {"epsilon", 1e-3}, {"scale", false}, {"center", false}};
  const RefTensor x = tensor_of(DType::f32, {3, 2}, {1, nan, 2, 3, 4, 6});
  const auto rows = run_op(*find_op("layer_norm"), attrs, {x}, threads);
  ASSERT_TRUE(rows) << rows.error().message;
  const auto channels = run_op(*find_op("batch_norm"), attrs, {x}, threads);
  ASSERT_TRUE(channels) << channels.error().message;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(std::isnan((*rows)[0].values[i]), i < 2) << i;
    EXPECT_EQ(std::isnan((*channels)[0].values[i]), i % 2 == 1) << i;
  }
}

struct Level {
  RowNormTables rows;
  ChannelNormTables channels;
};

std::vector<Level> levels_here() {
  std::vector<Level> levels = {
      {isa_baseline::row_norm_tables(), isa_baseline::channel_norm_tables()}};
#if defined(__x86_64__)
  if (best_isa() >= Isa::v3) {
    levels.push_back(
        {isa_v3::row_norm_tables(), isa_v3::channel_norm_tables()});
  }
  if (best_isa() >= Isa::v4) {
    levels.push_back(
        {isa_v4::row_norm_tables(), isa_v4::channel_norm_tables()});
  }
#endif
  return levels;
}

template <class T>
T stored_of(float value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return {float_to_bf16(value)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return {float_to_f16(value)};
  } else {
    return static_cast<T>(value);
  }
}

// Everything that a level's loops write, one after another.
template <class T>
Bytes results(const RowNormLoops<T>& rows, const ChannelNormLoops<T>& loops) {
  using C = Computed<T>;
  constexpr std::int64_t kRows = 9;
  constexpr std::int64_t kWidth = 83;
  constexpr std::size_t kCount = kRows * kWidth;
  std::vector<T> x, dy;
  std::vector<C> values;
  for (std::size_t i = 0; i < kCount; ++i) {
    const PhiloxBlock words = philox(1, 2, i);
    x.push_back(stored_of<T>(8 * uniform_float(words[0]) - 3));
    dy.push_back(stored_of<T>(2 * uniform_float(words[1]) - 1));
    values.push_back(static_cast<C>(uniform_float(words[2])));
  }
  Bytes all;
  const auto keep = [&](const auto& made) {
    const auto* bytes = reinterpret_cast<const std::byte*>(made.data());
    all.insert(all.end(), bytes, bytes + made.size() * sizeof(made[0]));
  };
  std::vector<T> out(kCount);
  std::vector<C> first(kCount), second(kCount);
  for (const bool mean : {true, false}) {
    rows.forward({x.data(), values.data(), values.data(), 1e-3, out.data(),
                  mean ? first.data() : nullptr, second.data()},
                 kRows, kWidth);
    keep(out);
    keep(second);
    rows.backward(
        {dy.data(), x.data(), values.data(), mean ? values.data() : nullptr,
         values.data(), out.data(), first.data(), second.data()},
        kRows, kWidth);
    keep(out);
    keep(first);
    keep(second);
  }
  std::vector<double> sums(kCount), dots(kCount);
  loops.moments(x.data(), kRows, kWidth, {sums.data(), dots.data()});
  keep(sums);
  keep(dots);
  loops.gradient_sums(dy.data(), x.data(), kRows, kWidth, values.data(),
                      sums.data(), dots.data());
  keep(sums);
  keep(dots);
  std::vector<C> factors = values;
  const ChannelFactors<C> all_factors{factors.data(), factors.data() + kWidth,
                                      factors.data() + 2 * kWidth,
                                      factors.data() + 3 * kWidth};
  loops.normalize(x.data(), kRows, kWidth, all_factors, out.data());
  keep(out);
  loops.input_gradient(dy.data(), x.data(), kRows, kWidth, all_factors,
                       out.data());
  keep(out);
  return all;
}

TEST(Normalization, EveryInstructionSetGivesTheSameBits) {
  const auto levels = levels_here();
  const Level& plain = levels.front();
  for (const Level& level : levels) {
    EXPECT_EQ(results(level.rows.f32, level.channels.f32),
              results(plain.rows.f32, plain.channels.f32));
    EXPECT_EQ(results(level.rows.f64, level.channels.f64),
              results(plain.rows.f64, plain.channels.f64));
    EXPECT_EQ(results(level.rows.bf16, level.channels.bf16),
              results(plain.rows.bf16, plain.channels.bf16));
    EXPECT_EQ(results(level.rows.f16, level.channels.f16),
              results(plain.rows.f16, plain.channels.f16));
  }
}

// Every value that a half can hold goes through the vectors and comes back.
template <class T, class Loops, class Widen>
void expect_same_halves(const Loops& loops, Widen widen) {
  std::vector<T> x(1 << 16), y(1 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i].bits = static_cast<std::uint16_t>(i);
  }
  std::vector<float> zeros(x.size(), 0.0F), ones(x.size(), 1.0F);
  // (x - 0) * 1 + 0 is x, but for the sign of zero.
  loops.normalize(x.data(), 1, static_cast<std::int64_t>(x.size()),
                  {zeros.data(), ones.data(), nullptr, zeros.data()}, y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float want = widen(x[i].bits);
    const float got = widen(y[i].bits);
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
        << i << ": got " << got << ", want " << want;
  }
}

TEST(Normalization, HalvesAreConvertedAsElsewhere) {
  for (const Level& level : levels_here()) {
    expect_same_halves<Bf16>(level.channels.bf16, bf16_to_float);
    expect_same_halves<F16>(level.channels.f16, f16_to_float);
  }
}

// Between the halves: rounding to nearest, ties to even.
template <class T, class Loops, class Narrow>
void expect_same_rounding(const Loops& loops, Narrow narrow) {
  constexpr std::size_t kCount = 4096;
  std::vector<T> x(kCount), y(kCount);
  std::vector<float> zeros(kCount, 0.0F), wanted(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const PhiloxBlock words = philox(3, 4, i);
    const auto bits = (words[0] & 0x8fffffffu) | (words[1] & 0x40000000u) |
                      (i % 3 == 0 ? 0u : 0x30000000u);
    wanted[i] = std::bit_cast<float>(bits);
    // Ties, too.
    if (i % 5 == 0) wanted[i] = std::bit_cast<float>(bits & 0xfffff000u);
    x[i].bits = 0;
  }
  loops.normalize(x.data(), 1, kCount,
                  {zeros.data(), zeros.data(), nullptr, wanted.data()},
                  y.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    if (std::isnan(wanted[i])) continue;
    EXPECT_EQ(y[i].bits, narrow(0.0F + wanted[i])) << wanted[i];
  }
}

TEST(Normalization, HalvesAreRoundedAsElsewhere) {
  for (const Level& level : levels_here()) {
    expect_same_rounding<Bf16>(level.channels.bf16, float_to_bf16);
    expect_same_rounding<F16>(level.channels.f16, float_to_f16);
  }
}

std::string refusal(Builder& builder) {
  return builder.ok() ? "(none)" : builder.status().error().message;
}

TEST(Normalization, RefusesWhatDoesNotFitAndSaysWhatWould) {
  const auto value = [](Builder& b, DType dtype, Shape shape) {
    return b.input("v", {dtype, std::move(shape)});
  };
  const Shape rows{Dim::batch(), 6};
  {
    Builder b;
    layer_norm(b, value(b, DType::f32, rows), value(b, DType::f32, {5}), {},
               1e-3);
    EXPECT_EQ(refusal(b),
              "layer_norm: gamma f32[5] does not fit x f32[B, 6]: it must be "
              "f32[6]");
  }
  {
    Builder b;
    layer_norm(b, value(b, DType::i32, rows), {}, {}, 1e-3);
    EXPECT_EQ(refusal(b),
              "layer_norm: x must be f32, f64, bf16 or f16, not i32[B, 6]");
  }
  {
    Builder b;
    group_norm(b, value(b, DType::f32, rows), {}, {}, 4, 1e-3);
    EXPECT_EQ(refusal(b),
              "group_norm: 4 groups do not divide the 6 channels of x "
              "f32[B, 6]");
  }
  {
    Builder b;
    batch_norm(b, value(b, DType::f32, {6}), {}, {}, 1e-3);
    EXPECT_EQ(refusal(b),
              "batch_norm: x must be of shape [B, ..., channels], not f32[6]");
  }
  {
    Builder b;
    rms_norm(b, value(b, DType::f32, rows), {}, -1);
    EXPECT_EQ(refusal(b),
              "rms_norm: epsilon must be a number from 0 on, not -1");
  }
  {
    Builder b;
    batch_norm_inference(b, value(b, DType::bf16, rows), {}, {},
                         value(b, DType::bf16, {6}), value(b, DType::f32, {6}),
                         1e-3);
    EXPECT_EQ(refusal(b),
              "batch_norm_inference: mean bf16[6] does not fit x bf16[B, 6]: "
              "it must be f32[6]");
  }
  {
    Builder b;
    b.emit(*find_op("layer_norm"), {value(b, DType::f32, rows)});
    EXPECT_EQ(refusal(b), "layer_norm: takes x, gamma, beta, not 1 inputs");
  }
}

TEST(Normalization, StatisticsHaveNoGradient) {
  Builder b;
  const ValueId x = b.input("x", {DType::f64, {4, 3}});
  const BatchNorm made = batch_norm(b, x, {}, {}, 1e-3);
  const ValueId loss = reduce_sum(b, made.mean, {});
  const ValueId seed = b.input("seed", {DType::f64, {}});
  const ValueId wanted[] = {x};
  const auto gradients =
      graph::add_gradients(b, loss, seed, wanted, standard_ops());
  ASSERT_FALSE(gradients);
  EXPECT_NE(gradients.error().message.find(
                "the statistics of `batch_norm` have no gradient"),
            std::string::npos)
      << gradients.error().message;
}

TEST(Normalization, MovingAveragesFollowTheBatch) {
  Builder b;
  const ValueId running = b.input("running", {DType::f64, {2}});
  const ValueId batch = b.input("batch", {DType::f64, {2}});
  const ValueId next = moving_average(b, running, batch, 0.99);
  auto graph = std::move(b).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  ComputeThreads threads(1);
  const auto values = run_graph(
      *graph, 1,
      {tensor_of(DType::f64, {2}, {1, -2}), tensor_of(DType::f64, {2}, {3, 4})},
      threads);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_NEAR((*values)[next.pos()].values[0], 1.02, 1e-15);
  EXPECT_NEAR((*values)[next.pos()].values[1], -1.94, 1e-15);
}

}  // namespace
}  // namespace plimsoll::ops::testing
