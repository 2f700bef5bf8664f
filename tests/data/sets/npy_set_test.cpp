#include "data/sets/npy_set.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "io/convert.h"
#include "io/temporary_folder.h"

namespace plimsoll::data {
namespace {

// Features (examples, 2, 3) counting up; labels (examples,) of i64.
class NpySetTest : public testing::Test {
 protected:
  void write(DType dtype, std::int64_t examples) {
    std::vector<double> numbers(static_cast<std::size_t>(examples) * 6);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<std::byte> stored(numbers.size() * 8);
    io::convert(DType::f64, numbers.data(), dtype, stored.data(),
                static_cast<std::int64_t>(numbers.size()));
    ASSERT_TRUE(io::write_npy(x_, {dtype, {examples, 2, 3}}, stored.data()));
    std::vector<std::int64_t> labels(static_cast<std::size_t>(examples));
    std::iota(labels.begin(), labels.end(), 100);
    ASSERT_TRUE(io::write_npy(y_, {DType::i64, {examples}}, labels.data()));
  }

  Result<std::unique_ptr<NpySet>> open() const {
    return NpySet::open({{"features", x_}, {"labels", y_}});
  }
  static Status gather(const Indexed& set,
                       std::span<const std::int64_t> numbers, void* features,
                       void* labels) {
    std::byte* const rows[] = {static_cast<std::byte*>(features),
                               static_cast<std::byte*>(labels)};
    return set.gather(numbers, rows, {});
  }

  TemporaryFolder folder_;
  std::string x_ = folder_.file("x.npy");
  std::string y_ = folder_.file("y.npy");
};

TEST_F(NpySetTest, GathersRowsOfEveryType) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i16, DType::i32, DType::i64,
        DType::u8, DType::u16, DType::u32, DType::u64}) {
    write(dtype, 40);
    const auto source = open();
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->size(), 40);
    EXPECT_EQ((*source)->spec()[0], fixed_field("features", dtype, {2, 3}));
    EXPECT_EQ((*source)->spec()[1], fixed_field("labels", DType::i64, {}));
    // Runs of one, three and two; backwards and repeated.
    const std::array<std::int64_t, 7> indices = {39, 4, 5, 6, 0, 1, 1};
    std::vector<std::byte> stored(42 * 8);
    std::array<float, 42> x{};
    std::array<std::int64_t, 7> y{};
    const auto status = gather(**source, indices, stored.data(), y.data());
    ASSERT_TRUE(status) << status.error().message;
    io::convert(dtype, stored.data(), DType::f32, x.data(), 42);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      EXPECT_EQ(y[i], indices[i] + 100);
      for (std::size_t j = 0; j < 6; ++j) {
        ASSERT_EQ(x[i * 6 + j],
                  static_cast<float>(indices[i]) * 6 + static_cast<float>(j))
            << name_of(dtype);
      }
    }
  }
}

TEST_F(NpySetTest, CountsMustAgree) {
  write(DType::f32, 4);
  const std::array<float, 5> labels{};
  ASSERT_TRUE(io::write_npy(y_, {DType::f32, {5}}, labels.data()));
  const auto source = open();
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message,
            x_ + " has 4 examples, " + y_ +
                " has 5 labels: the counts should be equal");
}

TEST_F(NpySetTest, RefusesSetsWithoutExamples) {
  write(DType::f32, 4);
  const float number = 1;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{4, 0}}) {
    ASSERT_TRUE(io::write_npy(y_, {DType::f32, shape}, &number));
    const auto source = open();
    ASSERT_FALSE(source) << shape.to_string();
    EXPECT_EQ(source.error().message.rfind(y_ + ": ", 0), 0u);
  }
}

TEST_F(NpySetTest, AFileThatShrankNamesOffsetAndExamples) {
  write(DType::f32, 10);
  const auto source = open();
  ASSERT_TRUE(source);
  std::filesystem::resize_file(x_, 128 + 5 * 24);
  const std::array<std::int64_t, 3> indices = {0, 4, 5};
  std::array<float, 18> x{};
  const auto status = gather(**source, indices, x.data(), nullptr);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            x_ + ": ends at offset 248, 24 bytes short; it had 368 bytes when "
                 "it was opened (examples 4 to 5)");
}

TEST_F(NpySetTest, IndicesOutsideAreRefused) {
  write(DType::f32, 10);
  const auto source = open();
  ASSERT_TRUE(source);
  for (const std::int64_t index : {-1, 10}) {
    float x[6];
    EXPECT_FALSE(gather(**source, {&index, 1}, x, nullptr));
  }
}

}  // namespace
}  // namespace plimsoll::data
