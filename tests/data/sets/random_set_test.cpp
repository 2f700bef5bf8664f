#include "data/sets/random_set.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "data/sets/uniform_rows.h"

namespace plimsoll::data {
namespace {

std::unique_ptr<RandomSet> make(const RandomSpec& spec) {
  auto source = RandomSet::create(spec);
  EXPECT_TRUE(source) << source.error().message;
  return *std::move(source);
}

Status gather(const Indexed& set, std::span<const std::int64_t> numbers,
              void* features, void* labels) {
  std::byte* const rows[] = {static_cast<std::byte*>(features),
                             static_cast<std::byte*>(labels)};
  return set.gather(numbers, rows, {});
}

RandomSpec uniform_spec() {
  RandomSpec spec;
  spec.examples = 1000;
  spec.features = {7, 19};
  spec.labels = RandomLabels::uniform;
  spec.label_shape = {10};
  return spec;
}

TEST(UniformRows, EveryLoopAgreesWithTheDefinition) {
  const UniformRow row(0x123456789abcdef0, 0xfedcba9876543210);
  for (const Isa level : {Isa::baseline, Isa::v3, Isa::v4}) {
    if (level > best_isa()) continue;
    const UniformLoops loops = uniform_loops(level);
    for (const std::uint32_t first : {0u, 5u, 0xfffffff0u}) {
      std::array<float, 133> wide{};
      std::array<std::uint16_t, 133> narrow{};
      loops.f32(row.first(first), row.salt(), std::ssize(wide), wide.data());
      loops.bf16(row.first(first), row.salt(), std::ssize(narrow),
                 narrow.data());
      for (std::uint32_t i = 0; i < wide.size(); ++i) {
        const float wanted = uniform_float(row.bits(first + i));
        ASSERT_EQ(wide[i], wanted)
            << "level " << static_cast<int>(level) << ", element " << i;
        ASSERT_EQ(narrow[i], float_to_bf16(wanted)) << i;
      }
    }
  }
}

TEST(UniformRows, ElementsPastAPartHaveWordsOfTheirOwn) {
  constexpr std::int64_t kPart = std::int64_t{1} << 32;
  std::array<float, 6> out{};
  fill_uniform(3, 4, kPart - 2, 6, DType::f32, out.data());
  const UniformRow before(3, 4, 0);
  const UniformRow behind(3, 4, 1);
  EXPECT_EQ(out[1], uniform_float(before.bits(0xffffffffu)));
  EXPECT_EQ(out[2], uniform_float(behind.bits(0)));
  EXPECT_NE(out[2], uniform_float(before.bits(0)));
}

// Of pairs: neighbours in a row, distant ones, and the same element of
// neighbouring examples and of neighbouring keys.
TEST(UniformRows, PairsAreIndependent) {
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kWidth = 4096;
  std::vector<float> x((kRows + 1) * kWidth);
  std::vector<float> other(x.size());
  for (std::size_t i = 0; i <= kRows; ++i) {
    fill_uniform(7, i, 0, kWidth, DType::f32, x.data() + i * kWidth);
    fill_uniform(8, i, 0, kWidth, DType::f32, other.data() + i * kWidth);
  }
  const auto chi = [&](const float* a, const float* b) {
    std::array<int, 256> cells{};
    for (std::size_t i = 0; i < kRows * kWidth; ++i) {
      ++cells[static_cast<std::size_t>(a[i] * 16) * 16 +
              static_cast<std::size_t>(b[i] * 16)];
    }
    const double wanted = kRows * kWidth / 256.0;
    double sum = 0;
    for (const int count : cells) sum += std::pow(count - wanted, 2) / wanted;
    return sum;
  };
  const double most = 255 + 5 * std::sqrt(2 * 255.0);
  for (const int lag : {1, 2, 3, 16, 224 * 3, 4096}) {
    EXPECT_LT(chi(x.data(), x.data() + lag), most) << lag;
  }
  EXPECT_LT(chi(x.data(), other.data()), most);
}

TEST(UniformRows, TailsAreTheSameElements) {
  std::vector<float> whole(200);
  fill_uniform(3, 4, 0, 200, DType::f32, whole.data());
  for (std::int64_t count = 0; count < 200; ++count) {
    std::vector<float> part(static_cast<std::size_t>(count) + 1, -1.0f);
    fill_uniform(3, 4, 0, count, DType::f32, part.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      ASSERT_EQ(part[i], whole[i]) << count;
    }
    ASSERT_EQ(part.back(), -1.0f) << "written past " << count;
  }
}

TEST(RandomSet, AnExampleIsTheSameInAnyBatch) {
  const auto source = make(uniform_spec());
  const auto width =
      static_cast<std::size_t>(source->spec()[0].shape.elements());
  EXPECT_EQ(width, 133u);
  const std::array<std::int64_t, 4> indices = {999, 5, 0, 5};
  std::vector<float> x(4 * width);
  std::vector<float> y(4 * 10);
  ASSERT_TRUE(gather(*source, indices, x.data(), y.data()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::vector<float> one(width);
    std::vector<float> label(10);
    ASSERT_TRUE(gather(*source, std::span(indices).subspan(i, 1), one.data(),
                       label.data()));
    for (std::size_t j = 0; j < width; ++j) {
      ASSERT_EQ(x[i * width + j], one[j]);
    }
    for (std::size_t j = 0; j < 10; ++j) {
      ASSERT_EQ(y[i * 10 + j], label[j]);
    }
  }
  EXPECT_NE(x[0], x[width]);
}

TEST(RandomSet, ValuesAreUniform) {
  RandomSpec spec = uniform_spec();
  spec.features = {1000};
  const auto source = make(spec);
  std::array<std::int64_t, 100> indices{};
  for (std::size_t i = 0; i < 100; ++i) {
    indices[i] = static_cast<std::int64_t>(i);
  }
  std::vector<float> x(100000);
  std::vector<float> y(1000);
  ASSERT_TRUE(gather(*source, indices, x.data(), y.data()));
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

TEST(RandomSet, BinaryAndClassLabels) {
  RandomSpec spec = uniform_spec();
  spec.labels = RandomLabels::binary;
  const auto binary = make(spec);
  spec.labels = RandomLabels::classes;
  spec.classes = 5;
  EXPECT_EQ(make(spec)->spec()[1], fixed_field("labels", DType::i32, {10}));
  spec.label_shape = {};
  const auto classes = make(spec);
  EXPECT_EQ(binary->spec()[1], fixed_field("labels", DType::f32, {}));
  EXPECT_EQ(classes->spec()[1], fixed_field("labels", DType::i32, {}));
  std::array<int, 5> counts{};
  double ones = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    float bit = -1;
    std::int32_t label = -1;
    ASSERT_TRUE(gather(*binary, {&i, 1}, nullptr, &bit));
    ASSERT_TRUE(gather(*classes, {&i, 1}, nullptr, &label));
    ASSERT_TRUE(bit == 0 || bit == 1);
    ASSERT_TRUE(label >= 0 && label < 5);
    ones += bit;
    ++counts[static_cast<std::size_t>(label)];
  }
  EXPECT_NEAR(ones, 500, 80);
  for (const int count : counts) EXPECT_NEAR(count, 200, 64);
}

TEST(RandomSet, TheSeedChangesEverything) {
  RandomSpec spec = uniform_spec();
  const auto one = make(spec);
  spec.seed = 2;
  const auto two = make(spec);
  const std::int64_t index = 0;
  std::vector<float> a(133);
  std::vector<float> b(133);
  ASSERT_TRUE(gather(*one, {&index, 1}, a.data(), nullptr));
  ASSERT_TRUE(gather(*two, {&index, 1}, b.data(), nullptr));
  int equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  EXPECT_LT(equal, 2);
}

TEST(RandomSet, RefusesSetsThatCannotBe) {
  RandomSpec spec = uniform_spec();
  spec.examples = 0;
  EXPECT_FALSE(RandomSet::create(spec));
  spec = uniform_spec();
  spec.examples = std::int64_t{1} << 58;
  EXPECT_FALSE(RandomSet::create(spec));
  spec = uniform_spec();
  spec.features = {5, 0};
  EXPECT_FALSE(RandomSet::create(spec));
  spec = uniform_spec();
  spec.labels = RandomLabels::classes;
  EXPECT_FALSE(RandomSet::create(spec));
  const auto source = make(uniform_spec());
  for (const std::int64_t index : {-1, 1000}) {
    EXPECT_FALSE(gather(*source, {&index, 1}, nullptr, nullptr));
  }
}

}  // namespace
}  // namespace plimsoll::data
