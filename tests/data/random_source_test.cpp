#include "data/random_source.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "data/uniform_rows.h"

namespace plimsoll::data {
namespace {

std::unique_ptr<RandomSource> make(const RandomSpec& spec) {
  auto source = RandomSource::create(spec);
  EXPECT_TRUE(source) << source.error().message;
  return *std::move(source);
}

RandomSpec uniform_spec() {
  RandomSpec spec;
  spec.examples = 1000;
  spec.features = {7, 19};
  spec.labels = RandomLabels::uniform;
  spec.label_shape = {10};
  return spec;
}

TEST(UniformRows, EveryKernelAgreesWithTheDefinition) {
  for (int k = 0; k < kUniformKernels; ++k) {
    const UniformKernel kernel = uniform_kernel(k);
    if (!kernel.supported) continue;
    const std::uint64_t key = 0x123456789abcdef0;
    for (const std::uint64_t example : {0ull, 5ull, 0xfedcba9876543210ull}) {
      // The second start carries a counter past 32 bits.
      for (const std::uint64_t group : {0ull, 3ull, 0x1fffffffull}) {
        std::array<float, 4 * kUniformGroup> out{};
        kernel.fill(key, example, group, 4, out.data());
        for (std::size_t i = 0; i < out.size(); ++i) {
          ASSERT_EQ(out[i], uniform_float(uniform_bits(
                                key, example, group * kUniformGroup + i)))
              << kernel.name << " element " << i;
        }
      }
    }
  }
}

TEST(UniformRows, TailsAreTheSameElements) {
  std::vector<float> whole(200);
  fill_uniform(3, 4, 0, 200, whole.data());
  for (std::int64_t count = 0; count < 200; ++count) {
    std::vector<float> part(static_cast<std::size_t>(count) + 1, -1.0f);
    fill_uniform(3, 4, 0, count, part.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      ASSERT_EQ(part[i], whole[i]) << count;
    }
    ASSERT_EQ(part.back(), -1.0f) << "written past " << count;
  }
}

TEST(RandomSource, AnExampleIsTheSameInAnyBatch) {
  const auto source = make(uniform_spec());
  const auto width = static_cast<std::size_t>(source->features().elements());
  EXPECT_EQ(width, 133u);
  const std::array<std::int64_t, 4> indices = {999, 5, 0, 5};
  std::vector<float> x(4 * width);
  std::vector<float> y(4 * 10);
  ASSERT_TRUE(
      source->read(indices, DType::f32, x.data(), DType::f32, y.data(), {}));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::vector<float> one(width);
    std::vector<double> label(10);
    ASSERT_TRUE(source->read(std::span(indices).subspan(i, 1), DType::f32,
                             one.data(), DType::f64, label.data(), {}));
    for (std::size_t j = 0; j < width; ++j) {
      ASSERT_EQ(x[i * width + j], one[j]);
    }
    for (std::size_t j = 0; j < 10; ++j) {
      ASSERT_EQ(y[i * 10 + j], static_cast<float>(label[j]));
    }
  }
  EXPECT_NE(x[0], x[width]);
}

TEST(RandomSource, ValuesAreUniform) {
  RandomSpec spec = uniform_spec();
  spec.features = {1000};
  const auto source = make(spec);
  std::array<std::int64_t, 100> indices{};
  for (std::size_t i = 0; i < 100; ++i) {
    indices[i] = static_cast<std::int64_t>(i);
  }
  std::vector<float> x(100000);
  std::vector<float> y(1000);
  ASSERT_TRUE(
      source->read(indices, DType::f32, x.data(), DType::f32, y.data(), {}));
  double sum = 0;
  double squares = 0;
  std::array<int, 64> cells{};
  for (const float value : x) {
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
    squares += static_cast<double>(value) * value;
    ++cells[static_cast<std::size_t>(value * 64)];
  }
  EXPECT_NEAR(sum / 1e5, 0.5, 0.005);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.005);
  double chi = 0;
  for (const int count : cells) chi += std::pow(count - 1562.5, 2) / 1562.5;
  EXPECT_LT(chi, 63 + 5 * std::sqrt(126.0));
  EXPECT_NE(x[0], y[0]);
}

TEST(RandomSource, BinaryAndClassLabels) {
  RandomSpec spec = uniform_spec();
  spec.labels = RandomLabels::binary;
  const auto binary = make(spec);
  spec.labels = RandomLabels::classes;
  spec.classes = 5;
  const auto classes = make(spec);
  EXPECT_EQ(binary->labels(), (FieldType{DType::f32, {}}));
  EXPECT_EQ(classes->labels(), (FieldType{DType::i32, {}}));
  std::array<int, 5> counts{};
  double ones = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    float bit = -1;
    std::int32_t label = -1;
    ASSERT_TRUE(
        binary->read({&i, 1}, DType::f32, nullptr, DType::f32, &bit, {}));
    ASSERT_TRUE(
        classes->read({&i, 1}, DType::f32, nullptr, DType::i32, &label, {}));
    ASSERT_TRUE(bit == 0 || bit == 1);
    ASSERT_TRUE(label >= 0 && label < 5);
    ones += bit;
    ++counts[static_cast<std::size_t>(label)];
  }
  EXPECT_NEAR(ones, 500, 80);
  for (const int count : counts) EXPECT_NEAR(count, 200, 64);
}

TEST(RandomSource, TheSeedChangesEverything) {
  RandomSpec spec = uniform_spec();
  const auto one = make(spec);
  spec.seed = 2;
  const auto two = make(spec);
  const std::int64_t index = 0;
  std::vector<float> a(133);
  std::vector<float> b(133);
  ASSERT_TRUE(
      one->read({&index, 1}, DType::f32, a.data(), DType::f32, nullptr, {}));
  ASSERT_TRUE(
      two->read({&index, 1}, DType::f32, b.data(), DType::f32, nullptr, {}));
  int equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  EXPECT_LT(equal, 2);
}

TEST(RandomSource, RefusesSetsThatCannotBe) {
  RandomSpec spec = uniform_spec();
  spec.examples = 0;
  EXPECT_FALSE(RandomSource::create(spec));
  spec = uniform_spec();
  spec.examples = std::int64_t{1} << 58;
  EXPECT_FALSE(RandomSource::create(spec));
  spec = uniform_spec();
  spec.features = {5, 0};
  EXPECT_FALSE(RandomSource::create(spec));
  spec = uniform_spec();
  spec.labels = RandomLabels::classes;
  EXPECT_FALSE(RandomSource::create(spec));
  const auto source = make(uniform_spec());
  for (const std::int64_t index : {-1, 1000}) {
    EXPECT_FALSE(source->read({&index, 1}, DType::f32, nullptr, DType::f32,
                              nullptr, {}));
  }
}

}  // namespace
}  // namespace plimsoll::data
