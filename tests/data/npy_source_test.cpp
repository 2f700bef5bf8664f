#include "data/npy_source.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "io/convert.h"
#include "io/temporary_folder.h"

namespace plimsoll::data {
namespace {

// Features (examples, 2, 3) counting up; labels (examples,) of i64.
class NpySourceTest : public testing::Test {
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

  TemporaryFolder folder_;
  std::string x_ = folder_.file("x.npy");
  std::string y_ = folder_.file("y.npy");
};

TEST_F(NpySourceTest, GathersRowsCastFromEveryType) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i16, DType::i32, DType::i64,
        DType::u8, DType::u16, DType::u32, DType::u64}) {
    write(dtype, 40);
    const auto source = NpySource::open(x_, y_);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->examples(), 40);
    EXPECT_EQ((*source)->features(), (FieldType{dtype, {2, 3}}));
    EXPECT_EQ((*source)->labels(), (FieldType{DType::i64, {}}));
    // Runs of one, three and two; backwards and repeated.
    const std::array<std::int64_t, 7> indices = {39, 4, 5, 6, 0, 1, 1};
    std::array<float, 42> x{};
    std::array<std::int32_t, 7> y{};
    std::vector<std::byte> scratch(static_cast<std::size_t>(
        (*source)->scratch_bytes(DType::f32, DType::i32)));
    const auto status = (*source)->read(indices, DType::f32, x.data(),
                                        DType::i32, y.data(), scratch);
    ASSERT_TRUE(status) << status.error().message;
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

TEST_F(NpySourceTest, RowsLongerThanTheSliceAreCastInParts) {
  const std::vector<double> row(100000, 0.5);
  ASSERT_TRUE(io::write_npy(x_, {DType::f64, {1, 100000}}, row.data()));
  ASSERT_TRUE(io::write_npy(y_, {DType::f64, {1}}, row.data()));
  const auto source = NpySource::open(x_, y_);
  ASSERT_TRUE(source);
  const std::int64_t bytes = (*source)->scratch_bytes(DType::f32, DType::f64);
  EXPECT_EQ(bytes, 256 * 1024);
  EXPECT_EQ((*source)->scratch_bytes(DType::f64, DType::f64), 0);
  std::vector<std::byte> scratch(static_cast<std::size_t>(bytes));
  std::vector<float> x(100000);
  const std::int64_t index = 0;
  ASSERT_TRUE((*source)->read({&index, 1}, DType::f32, x.data(), DType::f64,
                              nullptr, scratch));
  EXPECT_EQ(x, std::vector<float>(100000, 0.5f));
  EXPECT_FALSE((*source)->read({&index, 1}, DType::f32, x.data(), DType::f64,
                               nullptr, {}));
}

TEST_F(NpySourceTest, CountsMustAgree) {
  write(DType::f32, 4);
  const std::array<float, 5> labels{};
  ASSERT_TRUE(io::write_npy(y_, {DType::f32, {5}}, labels.data()));
  const auto source = NpySource::open(x_, y_);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message,
            x_ + " has 4 examples, " + y_ +
                " has 5 labels: the counts should be equal");
}

TEST_F(NpySourceTest, RefusesSetsWithoutExamples) {
  write(DType::f32, 4);
  const float number = 1;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{4, 0}}) {
    ASSERT_TRUE(io::write_npy(y_, {DType::f32, shape}, &number));
    const auto source = NpySource::open(x_, y_);
    ASSERT_FALSE(source) << shape.to_string();
    EXPECT_EQ(source.error().message.rfind(y_ + ": ", 0), 0u);
  }
}

TEST_F(NpySourceTest, AFileThatShrankNamesOffsetAndExamples) {
  write(DType::f32, 10);
  const auto source = NpySource::open(x_, y_);
  ASSERT_TRUE(source);
  std::filesystem::resize_file(x_, 128 + 5 * 24);
  const std::array<std::int64_t, 3> indices = {0, 4, 5};
  std::array<float, 18> x{};
  const auto status =
      (*source)->read(indices, DType::f32, x.data(), DType::i64, nullptr, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            x_ + ": ends at offset 248, 24 bytes short; it had 368 bytes when "
                 "it was opened (examples 4 to 5)");
}

TEST_F(NpySourceTest, IndicesOutsideAreRefused) {
  write(DType::f32, 10);
  const auto source = NpySource::open(x_, y_);
  ASSERT_TRUE(source);
  for (const std::int64_t index : {-1, 10}) {
    float x[6];
    EXPECT_FALSE(
        (*source)->read({&index, 1}, DType::f32, x, DType::i64, nullptr, {}));
  }
}

}  // namespace
}  // namespace plimsoll::data
