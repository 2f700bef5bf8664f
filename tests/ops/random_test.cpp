// Dropout's mask and the first values of parameters.
#include "ops/random/random.h"

#include <gtest/gtest.h>

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
