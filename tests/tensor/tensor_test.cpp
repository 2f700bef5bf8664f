#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include "device/cpu/host_memory_source.h"

namespace plimsoll::tensor {
namespace {

class TensorTest : public testing::Test {
 protected:
  Result<Tensor> make(Shape shape, DType dtype = DType::f32) {
    return Tensor::allocate(source_, ledger_,
                            {"test", Purpose::user, Space::host, 0}, dtype,
                            std::move(shape));
  }
  HostMemorySource source_;
  Ledger ledger_;
};

TEST_F(TensorTest, StorageIsChargedInWholePagesAndShared) {
  const std::int64_t page = source_.granularity_bytes();
  Tensor copy;
  {
    const auto tensor = make({3, 5});
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(tensor->elements(), 15);
    EXPECT_EQ(tensor->bytes(), 60);
    EXPECT_EQ(tensor->dtype(), DType::f32);
    EXPECT_EQ(
        ledger_.snapshot(),
        (std::vector<Holding>{{"test", Purpose::user, Space::host, page}}));
    copy = *tensor;
    tensor->data_as<float>()[14] = 2.5f;
  }
  EXPECT_EQ(copy.data_as<float>()[14], 2.5f);
  EXPECT_EQ(ledger_.held_bytes(Space::host), page);
  EXPECT_EQ(source_.mapped_bytes(), page);
  copy = Tensor();
  EXPECT_EQ(ledger_.held_bytes(Space::host), 0);
  EXPECT_EQ(source_.mapped_bytes(), 0);
}

TEST_F(TensorTest, OverBudgetIsAnErrorAndHoldsNothing) {
  ledger_.set_limit(Space::host, 10 * source_.granularity_bytes() - 1);
  EXPECT_EQ(make({10 * source_.granularity_bytes()}, DType::u8).error().code,
            ErrorCode::over_budget);
  EXPECT_EQ(source_.peak_mapped_bytes(), 0);
  EXPECT_TRUE(make({9 * source_.granularity_bytes()}, DType::u8).ok());
}

TEST_F(TensorTest, ImpossibleShapesAreErrors) {
  EXPECT_FALSE(make({Dim::batch(), 4}).ok());
  EXPECT_FALSE(make({-1}).ok());
  EXPECT_FALSE(make({std::int64_t{1} << 40, std::int64_t{1} << 40}).ok());
  EXPECT_FALSE(make({std::int64_t{1} << 61}, DType::f64).ok());
  EXPECT_EQ(ledger_.charges(), 0);
}

TEST_F(TensorTest, ScalarsAndEmptyTensors) {
  EXPECT_EQ(make({})->bytes(), 4);
  const auto empty = make({0, 7});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->bytes(), 0);
  EXPECT_TRUE(empty->rows(0, 0).ok());
  EXPECT_EQ(Tensor().bytes(), 0);
}

TEST_F(TensorTest, ViewsStayInsideAndAligned) {
  const auto storage = Storage::allocate(
      source_, ledger_, {"arena", Purpose::user, Space::host, 4096});
  ASSERT_TRUE(storage.ok());
  const std::int64_t bytes = (*storage)->bytes();
  EXPECT_TRUE(Tensor::view(*storage, bytes - 16, DType::f64, {2}).ok());
  EXPECT_FALSE(Tensor::view(*storage, bytes - 8, DType::f64, {2}).ok());
  EXPECT_FALSE(Tensor::view(*storage, 4, DType::f64, {2}).ok());
  EXPECT_FALSE(Tensor::view(*storage, -8, DType::f64, {1}).ok());
  EXPECT_FALSE(Tensor::view(*storage, bytes + 8, DType::f64, {0}).ok());
  EXPECT_FALSE(Tensor::view(nullptr, 0, DType::f64, {1}).ok());
  EXPECT_TRUE(Tensor::view(*storage, bytes, DType::f64, {0}).ok());
}

TEST_F(TensorTest, ReshapeAndRowsShareTheBytes) {
  const auto tensor = make({4, 3}, DType::i32);
  ASSERT_TRUE(tensor.ok());
  for (int i = 0; i < 12; ++i) tensor->data_as<std::int32_t>()[i] = i;
  const auto flat = tensor->reshape({12});
  ASSERT_TRUE(flat.ok());
  EXPECT_EQ(flat->data(), tensor->data());
  EXPECT_FALSE(tensor->reshape({13}).ok());
  const auto rows = tensor->rows(1, 3);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->shape(), (Shape{2, 3}));
  EXPECT_EQ(rows->elements(), 6);
  EXPECT_EQ(rows->data_as<std::int32_t>()[0], 3);
  EXPECT_EQ(rows->data_as<std::int32_t>()[5], 8);
  EXPECT_FALSE(tensor->rows(2, 5).ok());
  EXPECT_FALSE(tensor->rows(3, 2).ok());
  EXPECT_FALSE(tensor->rows(-1, 2).ok());
  EXPECT_FALSE(make({})->rows(0, 0).ok());
}

TEST_F(TensorTest, BorrowedMemoryIsKeptByItsOwner) {
  auto array = std::make_shared<std::vector<float>>(6, 1.5f);
  const std::weak_ptr<std::vector<float>> alive = array;
  auto* data = reinterpret_cast<std::byte*>(array->data());
  {
    const auto tensor = Tensor::view(
        Storage::borrow(std::move(array), data, 24), 0, DType::f32, {2, 3});
    ASSERT_TRUE(tensor.ok());
    EXPECT_FALSE(alive.expired());
    EXPECT_EQ(tensor->data_as<float>()[5], 1.5f);
    EXPECT_EQ(ledger_.charges(), 0);
  }
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace plimsoll::tensor
