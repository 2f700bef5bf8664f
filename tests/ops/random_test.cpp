// Dropout's mask, random tensors, and the first values of parameters.
#include "ops/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/random/initializers.h"
#include "ops/registry.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

std::vector<double> dropped_ones(double rate, std::int64_t seed,
                                 std::int64_t op_id, double step) {
  constexpr std::int64_t kCount = 40000;
  ComputeThreads threads(2);
  const auto y = run_op(
      *find_op("dropout"), {{"rate", rate}, {"seed", seed}, {"op_id", op_id}},
      {tensor_of(DType::f32, {kCount}, std::vector<double>(kCount, 1.0)),
       tensor_of(DType::i64, {}, {step})},
      threads);
  EXPECT_TRUE(y.ok());
  return y.ok() ? y->front().values : std::vector<double>();
}

TEST(Dropout, KeepsTheMeanAndTheRate) {
  double sum = 0;
  double zeros = 0;
  const auto values = dropped_ones(0.3, 1, 0, 0);
  for (const double value : values) {
    sum += value;
    zeros += value == 0 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 40000, 1.0, 0.02);
  EXPECT_NEAR(zeros / 40000, 0.3, 0.01);
}

TEST(Dropout, SeedOpAndStepEachChangeTheMask) {
  const auto base = dropped_ones(0.5, 1, 0, 0);
  for (const auto& other :
       {dropped_ones(0.5, 2, 0, 0), dropped_ones(0.5, 1, 1, 0),
        dropped_ones(0.5, 1, 0, 1)}) {
    double same = 0;
    for (std::size_t i = 0; i < base.size(); ++i) {
      same += base[i] == other[i] ? 1 : 0;
    }
    EXPECT_NEAR(same / static_cast<double>(base.size()), 0.5, 0.02);
  }
  EXPECT_EQ(base, dropped_ones(0.5, 1, 0, 0));
}

TEST(Dropout, ARateOfOneIsRefused) {
  graph::Builder builder;
  const auto x = builder.input("x", {DType::f32, {4}});
  const auto step = builder.input("step", {DType::i64, {}});
  dropout(builder, x, step, 1.0, 1, 0);
  EXPECT_FALSE(builder.ok());
}

std::vector<double> drawn(std::string_view op, std::string_view dtype, double a,
                          double b, std::int64_t seed = 1,
                          std::int64_t op_id = 0, double step = 0,
                          std::int64_t count = 200000) {
  const bool normal = op == "random_normal";
  ComputeThreads threads(2);
  const auto y = run_op(*find_op(op),
                        {{"shape", Shape{count}},
                         {"dtype", std::string(dtype)},
                         {"seed", seed},
                         {"op_id", op_id},
                         {normal ? "mean" : "low", a},
                         {normal ? "deviation" : "high", b}},
                        {tensor_of(DType::i64, {}, {step})}, threads);
  EXPECT_TRUE(y.ok());
  return y.ok() ? y->front().values : std::vector<double>();
}

// Mean, variance, skew and kurtosis.
std::array<double, 4> moments_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  std::array<double, 4> central{mean};
  for (const double value : values) {
    const double d = value - mean;
    central[1] += d * d / count;
    central[2] += d * d * d / count;
    central[3] += d * d * d * d / count;
  }
  const double deviation = std::sqrt(central[1]);
  return {mean, central[1], central[2] / std::pow(deviation, 3),
          central[3] / std::pow(deviation, 4)};
}

TEST(RandomFills, HaveTheirMoments) {
  for (const char* dtype : {"f32", "f64", "bf16", "f16"}) {
    const auto uniform = moments_of(drawn("random_uniform", dtype, -2, 4));
    // An even grid of so few bits lies half a step low.
    const double step = std::string_view(dtype) == "bf16" ? 3.0 / 256 : 0;
    EXPECT_NEAR(uniform[0], 1 - step, 0.02) << dtype;
    EXPECT_NEAR(uniform[1], 3, 0.03) << dtype;
    EXPECT_NEAR(uniform[2], 0, 0.02) << dtype;
    EXPECT_NEAR(uniform[3], 1.8, 0.02) << dtype;
    const auto normal = moments_of(drawn("random_normal", dtype, 3, 0.5));
    EXPECT_NEAR(normal[0], 3, 0.005) << dtype;
    EXPECT_NEAR(normal[1], 0.25, 0.003) << dtype;
    EXPECT_NEAR(normal[2], 0, 0.03) << dtype;
    EXPECT_NEAR(normal[3], 3, 0.06) << dtype;
  }
}

TEST(RandomFills, NeighboursAreNotCorrelated) {
  const auto x = drawn("random_normal", "f32", 0, 1);
  // 16 apart are the two of one point, 64 apart the next group.
  for (const std::size_t apart : {1u, 15u, 16u, 32u, 48u, 64u}) {
    double product = 0;
    double squares = 0;
    for (std::size_t i = 0; i + apart < x.size(); ++i) {
      product += x[i] * x[i + apart];
      squares += x[i] * x[i] * x[i + apart] * x[i + apart];
    }
    const auto count = static_cast<double>(x.size() - apart);
    EXPECT_NEAR(product / count, 0, 0.01) << apart;
    EXPECT_NEAR(squares / count, 1, 0.04) << apart;
  }
}

TEST(RandomFills, SeedOpAndStepEachChangeThem) {
  for (const char* op : {"random_uniform", "random_normal"}) {
    const auto base = drawn(op, "f32", 0, 1, 1, 0, 0, 1000);
    for (const auto& other : {drawn(op, "f32", 0, 1, 2, 0, 0, 1000),
                              drawn(op, "f32", 0, 1, 1, 1, 0, 1000),
                              drawn(op, "f32", 0, 1, 1, 0, 1, 1000)}) {
      std::size_t same = 0;
      for (std::size_t i = 0; i < base.size(); ++i) same += base[i] == other[i];
      EXPECT_LT(same, 3u) << op;
    }
    // Element by element, whatever the size.
    const auto fewer = drawn(op, "f32", 0, 1, 1, 0, 0, 77);
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), base.begin())) << op;
  }
}

TEST(RandomFills, TheEndStaysOut) {
  // So far from 0 the largest draws round to the end.
  for (const double value : drawn("random_uniform", "f32", 1000, 1001)) {
    ASSERT_GE(value, 1000);
    ASSERT_LT(value, 1001);
  }
  for (const char* dtype : {"bf16", "f16"}) {
    double top = 0;
    for (const double value : drawn("random_uniform", dtype, 0, 1)) {
      top = std::max(top, value);
    }
    EXPECT_LT(top, 1) << dtype;
    EXPECT_GT(top, 0.99) << dtype;
  }
}

TEST(RandomFills, MistakesAreNamed) {
  const auto refusal = [](auto&& build) {
    graph::Builder builder;
    const auto step = builder.input("step", {DType::i64, {}});
    build(builder, step);
    return builder.ok() ? std::string() : builder.status().error().message;
  };
  using graph::Builder;
  using graph::ValueId;
  const Shape shape = {Dim::batch(), 3};
  EXPECT_EQ(refusal([&](Builder& b, ValueId step) {
              random_uniform(b, shape, DType::f32, 0, 1, step, 1, 0);
              random_normal(b, shape, DType::bf16, 0, 0, step, 1, 1);
            }),
            "");
  EXPECT_NE(refusal([&](Builder& b, ValueId step) {
              random_uniform(b, shape, DType::f32, 1, 1, step, 1, 0);
            }).find("low 1 must be less than high 1"),
            std::string::npos);
  EXPECT_NE(refusal([&](Builder& b, ValueId step) {
              random_normal(b, shape, DType::f32, 0, -1, step, 1, 0);
            }).find("deviation -1"),
            std::string::npos);
  EXPECT_NE(refusal([&](Builder& b, ValueId step) {
              random_normal(b, shape, DType::i32, 0, 1, step, 1, 0);
            }).find("not `i32`"),
            std::string::npos);
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double largest = 0;
};

Moments moments_of(Initializer initializer, Fans fans) {
  std::vector<double> values(50000);
  initialize(std::span<double>(values), initializer, fans, {3, 1});
  Moments moments;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    moments.mean += value / count;
    moments.deviation += value * value / count;
    moments.largest = std::max(moments.largest, std::abs(value));
  }
  moments.deviation = std::sqrt(moments.deviation);
  return moments;
}

TEST(Initializers, HaveTheirSpreadAndLimits) {
  const Fans fans{600, 200};
  const struct {
    Initializer initializer;
    double deviation;
    double limit;
  } expected[] = {
      {Initializer::zeros, 0, 0},
      {Initializer::ones, 1, 1},
      {Initializer::random_uniform, 0.05 / std::sqrt(3.0), 0.05},
      {Initializer::random_normal, 0.05, 0.05 * 6},
      {Initializer::truncated_normal, 0.05 * 0.8796, 0.1},
      {Initializer::glorot_uniform, std::sqrt(2.0 / 800), std::sqrt(6.0 / 800)},
      {Initializer::glorot_normal, std::sqrt(2.0 / 800),
       2 * std::sqrt(2.0 / 800) / 0.8796},
      {Initializer::he_uniform, std::sqrt(2.0 / 600), std::sqrt(6.0 / 600)},
      {Initializer::he_normal, std::sqrt(2.0 / 600),
       2 * std::sqrt(2.0 / 600) / 0.8796},
      {Initializer::lecun_uniform, std::sqrt(1.0 / 600), std::sqrt(3.0 / 600)},
      {Initializer::lecun_normal, std::sqrt(1.0 / 600),
       2 * std::sqrt(1.0 / 600) / 0.8796},
  };
  for (const auto& want : expected) {
    const Moments got = moments_of(want.initializer, fans);
    const auto name = name_of(want.initializer);
    EXPECT_NEAR(got.deviation, want.deviation, 0.02 * want.deviation) << name;
    EXPECT_LE(got.largest, want.limit * 1.0001) << name;
    if (want.initializer != Initializer::ones) {
      EXPECT_NEAR(got.mean, 0, 0.02 * want.deviation) << name;
    }
    EXPECT_EQ(parse_initializer(name), want.initializer);
  }
  EXPECT_FALSE(parse_initializer("nonsense").has_value());
}

TEST(Initializers, AreAFunctionOfSeedStreamAndElement) {
  std::vector<float> a(100);
  std::vector<float> b(60);
  fill_normal(std::span<float>(a), {1, 2}, 0, 1);
  fill_normal(std::span<float>(b), {1, 2}, 0, 1);
  for (std::size_t i = 0; i < b.size(); ++i) EXPECT_EQ(a[i], b[i]);
  fill_normal(std::span<float>(b), {1, 3}, 0, 1);
  EXPECT_NE(a[0], b[0]);
}

TEST(Initializers, FansOfShapes) {
  EXPECT_EQ(fans_of({20, 30}).in, 20);
  EXPECT_EQ(fans_of({20, 30}).out, 30);
  EXPECT_EQ(fans_of({3, 3, 4, 8}).in, 36);
  EXPECT_EQ(fans_of({3, 3, 4, 8}).out, 72);
}

}  // namespace
}  // namespace plimsoll::ops::testing
