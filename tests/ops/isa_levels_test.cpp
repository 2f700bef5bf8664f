// Loops compiled for each instruction-set level give the same bits: a plan's
// numbers do not depend on the processor that runs these families.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/half.h"
#include "base/philox.h"
#include "ops/loss/loss_loops.h"
#include "ops/random/fill_loops.h"
#include "ops/random/random_loops.h"
#include "ops/reduction/reduction_loops.h"
#include "ops/softmax/softmax_loops.h"

namespace plimsoll::ops::testing {
namespace {

constexpr std::int64_t kRows = 9;
constexpr std::int64_t kWidth = 83;
constexpr std::int64_t kCount = kRows * kWidth;

template <class T>
std::vector<T> numbers(std::uint64_t stream, T low, T high) {
  std::vector<T> values;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    values.push_back(low + (high - low) * static_cast<T>(uniform_float(
                                              philox(1, stream, i)[0])));
  }
  return values;
}

struct Level {
  ReductionTables reduction;
  SoftmaxTables softmax;
  LossTables loss;
  RandomTables random;
  FillTables fill;
};

std::vector<Level> levels_here() {
  std::vector<Level> levels;
#if defined(__x86_64__)
  if (best_isa() >= Isa::v3) {
    levels.push_back({isa_v3::reduction_tables(), isa_v3::softmax_tables(),
                      isa_v3::loss_tables(), isa_v3::random_tables(),
                      isa_v3::fill_tables()});
  }
  if (best_isa() >= Isa::v4) {
    levels.push_back({isa_v4::reduction_tables(), isa_v4::softmax_tables(),
                      isa_v4::loss_tables(), isa_v4::random_tables(),
                      isa_v4::fill_tables()});
  }
#endif
  return levels;
}

Level baseline() {
  return {isa_baseline::reduction_tables(), isa_baseline::softmax_tables(),
          isa_baseline::loss_tables(), isa_baseline::random_tables(),
          isa_baseline::fill_tables()};
}

// Everything a level makes of the same inputs, one after the other.
template <class T>
std::vector<T> results(const ReductionLoops<T>& sum,
                       const ReductionLoops<T>& max,
                       const SoftmaxLoops<T>& softmax, const LossLoops<T>& loss,
                       DropoutLoop<T> dropout, const FillLoops<T>& fill) {
  const auto x = numbers<T>(0, -8, 8);
  const auto labels = numbers<T>(1, 0, 1);
  const std::vector<std::int32_t> classes = {0, 5, 82, 40, 1, 2, 3, -1, 83};
  std::vector<T> all;
  std::vector<T> out(kCount);
  const auto keep = [&](std::int64_t count) {
    all.insert(all.end(), out.begin(), out.begin() + count);
  };
  for (const ReductionLoops<T>& loops : {sum, max}) {
    std::vector<double> totals(kWidth + 1, loops.identity);
    loops.row(x.data(), kCount, totals.data());
    loops.columns(x.data(), kRows, kWidth, kWidth, totals.data() + 1);
    for (const double total : totals) all.push_back(static_cast<T>(total));
  }
  softmax.forward(x.data(), kRows, kWidth, out.data());
  keep(kCount);
  softmax.backward(x.data(), labels.data(), kRows, kWidth, out.data());
  keep(kCount);
  loss.dense(x.data(), labels.data(), kRows, kWidth, out.data());
  keep(kRows);
  loss.dense_grad(labels.data(), x.data(), labels.data(), kRows, kWidth,
                  out.data());
  keep(kCount);
  loss.sparse(x.data(), classes.data(), kRows, kWidth, out.data());
  keep(kRows);
  loss.sparse_grad(labels.data(), x.data(), classes.data(), kRows, kWidth,
                   out.data());
  keep(kCount);
  dropout(x.data(), 128, kCount, {7, 3, 1u << 30}, T(1.5), out.data());
  keep(kCount);
  for (const auto loop : {fill.uniform, fill.normal}) {
    loop({7, 8, 3, -1, 4, 3}, 128, kCount, out.data());
    keep(kCount);
  }
  return all;
}

std::vector<float> in_f32(const Level& level) {
  return results(level.reduction.sum_f32, level.reduction.max_f32,
                 level.softmax.f32, level.loss.f32, level.random.dropout_f32,
                 level.fill.f32);
}

std::vector<float> columns_in_bf16(const Level& level) {
  std::vector<std::uint16_t> x;
  for (const float value : numbers<float>(2, -8, 8)) {
    x.push_back(float_to_bf16(value));
  }
  std::vector<double> totals(kWidth, 0);
  level.reduction.sum_columns_bf16(x.data(), kRows, kWidth, kWidth,
                                   totals.data());
  return {totals.begin(), totals.end()};
}

std::vector<double> in_f64(const Level& level) {
  return results(level.reduction.sum_f64, level.reduction.max_f64,
                 level.softmax.f64, level.loss.f64, level.random.dropout_f64,
                 level.fill.f64);
}

// By value, except that any NaN equals any other.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] != want[i] && got[i] != got[i]) continue;
    EXPECT_EQ(std::memcmp(&got[i], &want[i], sizeof(T)), 0)
        << "index " << i << ": got " << got[i] << ", want " << want[i];
  }
}

TEST(IsaLevels, GiveTheSameBits) {
  const auto levels = levels_here();
  if (levels.empty()) GTEST_SKIP() << "only the baseline runs here";
  for (const Level& level : levels) {
    expect_same(in_f32(level), in_f32(baseline()));
    expect_same(in_f64(level), in_f64(baseline()));
    expect_same(columns_in_bf16(level), columns_in_bf16(baseline()));
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
