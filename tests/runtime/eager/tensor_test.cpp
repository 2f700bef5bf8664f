// Tensors that are computed at once.
#include "plimsoll/tensor.h"

#include <gmock/gmock.h>

#include <thread>

#include "plimsoll/tensor_math.h"
#include "runtime/eager/eager_fixture.h"

namespace plimsoll::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TensorTest : public EagerTest {};

Tensor row(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::of(values, {size});
}

TEST_F(TensorTest, OperandsBroadcast) {
  const Tensor column = Tensor::of(std::vector<float>{10, 20}, {2, 1});
  const Tensor sum = column + row({1, 2, 3});
  EXPECT_THAT(sum.shape(), ElementsAre(2, 3));
  EXPECT_THAT(sum.to_floats(), ElementsAre(11, 12, 13, 21, 22, 23));
  EXPECT_THAT((1.0 - column).to_floats(), ElementsAre(-9, -19));
  EXPECT_THAT((column / 4.0).to_floats(), ElementsAre(2.5, 5));
  EXPECT_THAT((2.0 / row({1, 4})).to_floats(), ElementsAre(2, 0.5));
  Tensor changed = row({1, 2});
  const Tensor before = changed;
  changed *= row({3, 3});
  EXPECT_THAT(changed.to_floats(), ElementsAre(3, 6));
  EXPECT_THAT(before.to_floats(), ElementsAre(1, 2));
}

TEST_F(TensorTest, TheWiderTypeIsTaken) {
  const Tensor wide = Tensor::of(std::vector<double>{0.5}, {1});
  EXPECT_EQ((row({1}) + wide).dtype(), DType::f64);
  EXPECT_EQ((row({1}) * 0.5).dtype(), DType::f32);
  EXPECT_EQ((row({1}).cast(DType::bf16) + row({1}).cast(DType::f16)).dtype(),
            DType::f32);
  EXPECT_EQ((row({1}) + Tensor::of(std::vector<std::int32_t>{7}, {1})).dtype(),
            DType::f64);
}

TEST_F(TensorTest, IndicesAreNumPys) {
  const Tensor a = arange(24).reshape({2, 3, -1});
  EXPECT_THAT(a.shape(), ElementsAre(2, 3, 4));
  EXPECT_THAT(a[1].shape(), ElementsAre(3, 4));
  EXPECT_EQ(a[1][0][2].item(), 14);
  EXPECT_THAT((a[{-1, slice(0, 2), 3}].to_floats()), ElementsAre(15, 19));
  EXPECT_THAT((a[{0, 0, slice({}, {}, 2)}].to_floats()), ElementsAre(0, 2));
  EXPECT_THAT((a[{slice(), newaxis, 0}].shape()), ElementsAre(2, 1, 4));
  EXPECT_THAT((a[{slice(5), 0, 0}].shape()), ElementsAre(0));
  EXPECT_THAT(thrown([&] { a[2]; }),
              HasSubstr("index 2 is outside of axis 0, which has 2 elements"));
  EXPECT_THAT(thrown([&] { a[{0, 0, 0, 0}]; }), HasSubstr("has 3 axes"));
}

TEST_F(TensorTest, ReducesMultipliesAndMoves) {
  const Tensor a = arange(6).reshape({2, 3});
  EXPECT_EQ(sum(a).item(), 15);
  EXPECT_THAT(sum(a, {0}).to_floats(), ElementsAre(3, 5, 7));
  EXPECT_THAT(mean(a, {-1}, true).shape(), ElementsAre(2, 1));
  EXPECT_THAT(max(a, {1}).to_floats(), ElementsAre(2, 5));
  EXPECT_THAT(argmax(a, 1).to_floats(), ElementsAre(2, 2));
  EXPECT_THAT(matmul(a, a, false, true).to_floats(),
              ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(transpose(a).to_floats(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(concat({a[0], a[1]}, 0).shape(), ElementsAre(6));
  EXPECT_THAT(stack({a[0], a[1]}, 1).shape(), ElementsAre(3, 2));
  EXPECT_THAT(einsum("ij,ij->i", a, a).to_floats(), ElementsAre(5, 50));
  EXPECT_THAT(where(greater(a, full({}, 2)), a, -a).to_floats(),
              ElementsAre(0, -1, -2, 3, 4, 5));
}

TEST_F(TensorTest, ErrorsNameTheShapes) {
  EXPECT_THAT(thrown([] {
                zeros({2, 3}) + zeros({4});
              }),
              HasSubstr("f32[2, 3], f32[4]"));
  EXPECT_THAT(thrown([] {
                matmul(zeros({2, 3}), zeros({2, 3}));
              }),
              HasSubstr("f32[2, 3], f32[2, 3]"));
  EXPECT_THAT(thrown([] {
                Tensor::of(std::vector<float>{1, 2}, {3});
              }),
              HasSubstr("f32[3] has 3 elements, but 2 were given"));
  EXPECT_THAT(thrown([] { Tensor() + Tensor(); }),
              HasSubstr("the tensor is empty"));
  EXPECT_THAT(thrown([] { zeros({2}).item(); }), HasSubstr("f32[2]"));
}

// As NumPy 2.2 prints them.
TEST_F(TensorTest, PrintsAsNumPy) {
  EXPECT_EQ(row({1, 2.5, -3}).to_string(), "[ 1.   2.5 -3. ]");
  EXPECT_EQ((arange(4).reshape({2, 2}) * 0.1).to_string(),
            "[[0.  0.1]\n [0.2 0.3]]");
  EXPECT_EQ(full({}, 7).to_string(), "7.");
  EXPECT_EQ(Tensor::of(std::vector<std::int32_t>{1, -20, 3}, {3}).to_string(),
            "[  1 -20   3]");
  EXPECT_EQ(row({1e-6f, 1}).to_string(), "[1.e-06 1.e+00]");
  EXPECT_EQ(
      arange(2000).to_string(),
      "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]");
  EXPECT_EQ(zeros({2, 1, 2}).to_string(), "[[[0. 0.]]\n\n [[0. 0.]]]");
}

TEST_F(TensorTest, PrintsWhateverThereIs) {
  EXPECT_EQ(zeros({1000000000, 0}).to_string(), "[]");
  EXPECT_EQ(Tensor::of(std::vector<double>{1.7e308, 5e-324}, {2}).to_string(),
            "[1.7e+308 4.9e-324]");
  const Tensor wide = arange(7 * 200).reshape({7, 200}) * 0.5;
  const std::int64_t before = live_bytes();
  EXPECT_EQ(wide.to_string().substr(0, 40),
            "[[0.000e+00 5.000e-01 1.000e+00 ... 9.85");
  EXPECT_EQ(live_bytes(), before);
}

TEST_F(TensorTest, SizesBeyondAllMemoryAreRefused) {
  EXPECT_THAT(
      thrown([] { zeros({std::int64_t{1} << 62}); }, Failure::over_budget),
      HasSubstr("larger than any memory"));
  EXPECT_THAT(
      thrown([] { Tensor::of(std::vector<double>{}, {std::int64_t{1} << 61}); },
             Failure::over_budget),
      HasSubstr("larger than any memory"));
}

// Numbers that ops bring along lie beside their operands.
TEST_F(TensorTest, TwoSessionsKeepApart) {
  const Tensor here = ones({3});
  HostMemorySource memory;
  Ledger ledger;
  const auto other = std::make_shared<Eager>(
      EagerMachine{threads_, *kernels_, memory, ledger});
  enter_eager(other);
  EXPECT_EQ(sum(here / 2.0 + 1.0 / here).item(), 4.5);
  EXPECT_THAT(thrown([&] { here + ones({3}); }), HasSubstr("another session"));
  leave_eager(other.get());
  other->close();
}

TEST_F(TensorTest, MemoryGoesBackWithTheLastHandle) {
  const std::int64_t before = live_bytes();
  {
    const Tensor a = zeros({256, 256});
    const Tensor view = a.reshape({65536});
    EXPECT_GE(live_bytes(), before + 256 * 1024);
    EXPECT_LT(live_bytes(), before + 512 * 1024);
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST_F(TensorTest, OverTheLineIsAnErrorToRecoverFrom) {
  ledger_.set_limit(Space::host, 8 << 20);
  const Tensor a = zeros({1024, 1024});
  EXPECT_THAT(thrown(
                  [&] {
                    a + zeros({1024, 1024}) + a;
                  },
                  Failure::over_budget),
              HasSubstr("eager"));
  EXPECT_EQ(sum(a[{slice(0, 16)}] + 1.0).item(), 16 * 1024);
}

TEST_F(TensorTest, AThreadMayBringTensorsBack) {
  Tensor a = ones({1000});
  std::thread([&] {
    a = a + a;
    const Tensor gone = std::move(a);
    a = gone * 2.0;
  }).join();
  EXPECT_EQ(sum(a).item(), 4000);
}

TEST_F(TensorTest, AfterCloseTensorsSaySo) {
  const Tensor a = ones({3});
  eager_->close();
  EXPECT_EQ(memory_.mapped_bytes(), 0);
  EXPECT_EQ(a.size(), 3);
  EXPECT_THAT(thrown([&] { a + a; }), HasSubstr("session"));
  EXPECT_THAT(thrown([&] { a.to_floats(); }), HasSubstr("session"));
  EXPECT_THAT(thrown([] { ones({3}); }), HasSubstr("session"));
}

TEST_F(TensorTest, TheSameShapesMakeNoKernels) {
  Tensor a = ones({8, 8});
  a = matmul(a, a) + a;
  const std::int64_t made = eager_->prepared().made();
  for (int i = 0; i < 10; ++i) a = matmul(a, a) * 0.01 + a;
  EXPECT_EQ(eager_->prepared().made(), made + 1);
}

}  // namespace
}  // namespace plimsoll::runtime::testing
