// What the records cannot say: special values, every instruction set, and how
// an expression is laid out.
#include "ops/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/elementwise/domain.h"
#include "ops/elementwise/elementwise_loops.h"
#include "ops/elementwise/program.h"

namespace plimsoll::ops::testing {
namespace {

using Code = graph::ElementwiseCode;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> run(const ElementwiseLoops& loops, Code code,
                       const std::vector<float>& a, const std::vector<float>& b,
                       double scalar = 0.25) {
  std::vector<float> out(a.size());
  loops.f32[static_cast<std::size_t>(code)](
      a.data(), b.data(), a.data(), out.data(), scalar,
      static_cast<std::int64_t>(a.size()));
  return out;
}

std::vector<float> run(Code code, const std::vector<float>& a) {
  return run(pick_elementwise_loops(), code, a, a);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want,
                 const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " at " << i;
    } else {
      EXPECT_EQ(got[i], want[i]) << what << " at " << i;
    }
  }
}

// Several of each, so that the vector path is taken and not only the rest.
std::vector<float> often(const std::vector<float>& values) {
  std::vector<float> all;
  for (int i = 0; i < 32; ++i) {
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

double units_off(float got, double want) {
  const float nearest = static_cast<float>(want);
  const double unit = double(std::nextafter(std::fabs(nearest), kInfinity)) -
                      double(std::fabs(nearest));
  return std::fabs(double(got) - want) / unit;
}

TEST(Elementwise, SpecialValues) {
  const std::vector<float> x =
      often({0.0f, -0.0f, kInfinity, -kInfinity, kNan});
  const auto expect = [&](Code code, const std::vector<float>& want,
                          const char* what) {
    expect_same(run(code, x), often(want), what);
  };
  expect(Code::exp, {1, 1, kInfinity, 0, kNan}, "exp");
  expect(Code::log, {-kInfinity, -kInfinity, kInfinity, kNan, kNan}, "log");
  expect(Code::tanh, {0, 0, 1, -1, kNan}, "tanh");
  expect(Code::sigmoid, {0.5f, 0.5f, 1, 0, kNan}, "sigmoid");
  expect(Code::gelu, {0, 0, kInfinity, 0, kNan}, "gelu");
  expect(Code::sqrt, {0, 0, kInfinity, kNan, kNan}, "sqrt");
  expect(Code::relu, {0, 0, kInfinity, 0, kNan}, "relu");
  expect(Code::sign, {0, 0, 1, -1, kNan}, "sign");
  expect(Code::maximum_scalar, {0.25f, 0.25f, kInfinity, 0.25f, kNan},
         "maximum_scalar");
  expect(Code::gelu_tanh, {0, 0, kInfinity, 0, kNan}, "gelu_tanh");
  expect(Code::silu, {0, 0, kInfinity, 0, kNan}, "silu");
  expect(Code::elu, {0, 0, kInfinity, -0.25f, kNan}, "elu");
  expect(Code::softplus, {std::log(2.0f), std::log(2.0f), kInfinity, 0, kNan},
         "softplus");
  expect(Code::less_equal, {1, 1, 1, 1, 0}, "less_equal");
  expect(Code::not_equal, {0, 0, 0, 0, 1}, "not_equal");
}

TEST(Elementwise, SlopesAtTheEndsAreNotNan) {
  const std::vector<float> x = often({kInfinity, -kInfinity, 1e30f, -1e30f});
  const std::vector<float> ones(x.size(), 1.0f);
  for (const Code code : {Code::gelu_tanh_grad, Code::silu_grad}) {
    expect_same(run(pick_elementwise_loops(), code, ones, x),
                often({1, 0, 1, 0}), "a slope");
  }
  expect_same(run(pick_elementwise_loops(), Code::softplus_grad, ones,
                  often({kInfinity, 0, 1e30f, 1e-30f})),
              often({1, 0, 1, 1e-30f}), "softplus_grad");
}

TEST(Elementwise, PowersAreAsTheLibraryHasThem) {
  const std::vector<float> special = {
      0.0f,          -0.0f,      1,        -1,       2,          -2,
      0.5f,          -0.5f,      3,        -3,       1e-40f,     -1e-40f,
      kInfinity,     -kInfinity, kNan,     1e30f,    -1e30f,     2.5f,
      -2.5f,         8388609,    -8388609, 16777216, 1.0000001f, 0.99999994f,
      3.4028235e38f, 150,        -150};
  std::vector<float> a;
  std::vector<float> b;
  for (const float x : special) {
    for (const float y : special) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const auto check = [](float got, float x, float y) {
    const double want = std::pow(double(x), double(y));
    const auto rounded = static_cast<float>(want);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << x << " ^ " << y << " is " << got;
    } else if (rounded == 0 || std::isinf(rounded)) {
      EXPECT_EQ(got, rounded) << x << " ^ " << y;
      EXPECT_EQ(std::signbit(got), std::signbit(rounded)) << x << " ^ " << y;
    } else {
      EXPECT_LT(units_off(got, want), 0.6) << x << " ^ " << y;
    }
  };
  const auto got = run(pick_elementwise_loops(), Code::power, a, b);
  for (std::size_t i = 0; i < a.size(); ++i) check(got[i], a[i], b[i]);
  for (const float y : special) {
    const auto powers = run(pick_elementwise_loops(), Code::power_scalar,
                            special, special, double(y));
    for (std::size_t i = 0; i < special.size(); ++i) {
      check(powers[i], special[i], y);
    }
  }
  // Large exponents show what the logarithm is off by.
  std::vector<float> x;
  for (int i = 0; i < 20001; ++i) {
    x.push_back(0.5f + 1.5f * static_cast<float>(i) / 20000);
  }
  for (const float y : {-110.0f, 110.5f, 0.3f}) {
    const auto powers =
        run(pick_elementwise_loops(), Code::power_scalar, x, x, double(y));
    for (std::size_t i = 0; i < x.size(); ++i) check(powers[i], x[i], y);
  }
}

TEST(Elementwise, WhereKeepsTheOtherSideOut) {
  const auto& loops = pick_elementwise_loops();
  const auto choose = [&](const std::vector<float>& condition,
                          const std::vector<float>& a,
                          const std::vector<float>& b) {
    std::vector<float> out(a.size());
    loops.f32[static_cast<std::size_t>(Code::where)](
        condition.data(), a.data(), b.data(), out.data(), 0,
        static_cast<std::int64_t>(a.size()));
    return out;
  };
  // NaN is not 0, as in NumPy.
  expect_same(
      choose(often({1, 0, -0.0f, -3, kNan}), often({1, kNan, kNan, 2, 3}),
             often({kNan, 4, 5, kInfinity, kNan})),
      often({1, 4, 5, 2, 3}), "where");
}

TEST(Elementwise, AThirdOperandIsKeptAndMayBeAbsent) {
  const graph::ElementwiseExpression two{2, {{Code::add, 0, 1}}, {2}};
  EXPECT_FALSE(graph::to_attrs(two).has("thirds"));
  EXPECT_EQ(graph::expression_of(graph::to_attrs(two)), two);
  const graph::ElementwiseExpression three{
      3, {{Code::add, 0, 1}, {Code::where, 0, 1, 0, 2}}, {4}};
  EXPECT_EQ(graph::expression_of(graph::to_attrs(three)), three);

  const graph::TypeList types(3, {DType::f32, {2}});
  EXPECT_TRUE(fused_op().infer(types, graph::to_attrs(three)).ok());
  for (const int missing : {-1, 4}) {
    graph::ElementwiseExpression wrong = three;
    wrong.instructions[1].c = missing;
    EXPECT_FALSE(fused_op().infer(types, graph::to_attrs(wrong)).ok());
  }
}

TEST(Elementwise, NanWinsInMaximumFromEitherSide) {
  for (const Code code : {Code::maximum, Code::minimum}) {
    const auto& loops = pick_elementwise_loops();
    expect_same(run(loops, code, often({kNan, 1}), often({1, kNan})),
                often({kNan, kNan}), "maximum or minimum");
  }
}

TEST(Elementwise, EndsOfTheRange) {
  expect_same(run(Code::exp, often({88.8f, 1000, -104, -1000})),
              often({kInfinity, kInfinity, 0, 0}), "exp");
  const float tiny = std::numeric_limits<float>::denorm_min();
  const auto logs = run(Code::log, often({tiny, 3.4028235e38f}));
  EXPECT_NEAR(logs[0], -103.27893, 1e-5);
  EXPECT_NEAR(logs[1], 88.722839, 1e-5);
  const auto small = run(Code::exp, often({-100}));
  EXPECT_NEAR(double(small[0]) / std::exp(-100.0), 1, 0.02);  // subnormal
  expect_same(run(Code::tanh, often({1e-20f})), often({1e-20f}), "tanh");
}

TEST(Elementwise, FunctionsAreWithinThreeUnits) {
  struct Function {
    Code code;
    double (*exact)(double);
    float low, high;
  };
  const Function functions[] = {
      {Code::exp, [](double x) { return std::exp(x); }, -87, 88.5f},
      {Code::log, [](double x) { return std::log(x); }, 1e-4f, 3},
      {Code::tanh, [](double x) { return std::tanh(x); }, -10, 10},
      {Code::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80},
      {Code::silu, [](double x) { return x / (1 + std::exp(-x)); }, -80, 80},
      {Code::elu, [](double x) { return x > 0 ? x : 0.25 * std::expm1(x); },
       -20, 1},
      {Code::softplus,
       [](double x) {
         return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
       },
       -80, 80},
      {Code::power_scalar, [](double x) { return std::pow(x, 0.25); }, 0,
       1e30f},
  };
  for (const Function& f : functions) {
    std::vector<float> x;
    for (int i = 0; i < 20001; ++i) {
      x.push_back(f.low + (f.high - f.low) * static_cast<float>(i) / 20000);
    }
    const auto y = run(f.code, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, units_off(y[i], f.exact(double(x[i]))));
    }
    EXPECT_LT(worst, 3) << graph::name_of(f.code);
  }
}

#if defined(__x86_64__)
TEST(Elementwise, EveryInstructionSetGivesTheSameBits) {
  std::vector<float> a;
  std::vector<float> b;
  for (int i = 0; i < 1037; ++i) {
    a.push_back(static_cast<float>(i - 500) / 37);
    b.push_back(static_cast<float>(i * 7 % 201 - 100) / 50);
  }
  for (int i = 0; i < graph::kElementwiseCodes; ++i) {
    const auto code = static_cast<Code>(i);
    const auto want = run(isa_baseline::elementwise_loops(), code, a, b);
    const auto expect_bits = [&](const ElementwiseLoops& loops) {
      const auto got = run(loops, code, a, b);
      for (std::size_t k = 0; k < got.size(); ++k) {
        EXPECT_TRUE(got[k] == want[k] ||
                    (got[k] != got[k] && want[k] != want[k]))
            << graph::name_of(code) << " at " << k;
      }
    };
    if (best_isa() != Isa::baseline) expect_bits(isa_v3::elementwise_loops());
    if (best_isa() == Isa::v4) expect_bits(isa_v4::elementwise_loops());
  }
}
#endif

TEST(Elementwise, MistakesNameBothTypes) {
  const auto& op = elementwise_op(Code::add);
  const auto refused = [&](graph::TypeList inputs) {
    const auto result = op.infer(inputs, {});
    return result ? std::string() : result.error().message;
  };
  const std::string dtypes =
      refused({{DType::f32, {2, 3}}, {DType::f64, {2, 3}}});
  EXPECT_NE(dtypes.find("add(f32[2, 3], f64[2, 3])"), std::string::npos)
      << dtypes;
  const std::string shapes = refused({{DType::f32, {2, 3}}, {DType::f32, {4}}});
  EXPECT_NE(shapes.find("[4]"), std::string::npos) << shapes;
  EXPECT_NE(refused({{DType::f32, {2}}}).find("2 operands"), std::string::npos);
  const graph::TypeList one = {{DType::f32, {2}}};
  const auto elu = elementwise_op(Code::elu).infer(one, {{"scalar", -1.0}});
  ASSERT_FALSE(elu.ok());
  EXPECT_NE(elu.error().message.find("at least 0"), std::string::npos)
      << elu.error().message;
}

TEST(Elementwise, DimensionsAreMergedAndAccessesFound) {
  const auto access = [](const Shape& input, const Shape& output) {
    const graph::TensorType types[] = {{DType::f32, input},
                                       {DType::f32, output}};
    return find_domain(types, output)->inputs[0].access;
  };
  EXPECT_EQ(access({3, 4, 5}, {3, 4, 5}), Access::dense);
  EXPECT_EQ(access({4, 5}, {1, 4, 5}), Access::dense);
  EXPECT_EQ(access({}, {3, 4}), Access::scalar);
  EXPECT_EQ(access({4, 5}, {3, 4, 5}), Access::tiled);
  EXPECT_EQ(access({2000}, {3, 2000}), Access::periodic);
  EXPECT_EQ(access({3, 1}, {3, 4}), Access::expanded);
  const graph::TensorType same[] = {{DType::f32, {3, 4, 5}},
                                    {DType::f32, {3, 4, 5}}};
  EXPECT_EQ(find_domain(same, {3, 4, 5})->extents,
            std::vector<std::int64_t>{60});
}

TEST(Elementwise, ALongChainTakesOneSlot) {
  graph::ElementwiseExpression chain{1, {}, {}};
  for (int i = 0; i < 20; ++i) {
    chain.instructions.push_back({Code::exp, i});
  }
  chain.results = {20};
  const auto compiled = compile(chain, {false}, {false});
  EXPECT_EQ(compiled.direct.slots, 1);
  EXPECT_TRUE(compiled.hazards.empty());
  EXPECT_EQ(compiled.direct.steps.back().out.kind, Place::Kind::output);
}

}  // namespace
}  // namespace plimsoll::ops::testing
