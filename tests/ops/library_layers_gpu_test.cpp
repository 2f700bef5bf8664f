// Plans take the library's engines for granted: those for what plans give it
// are there.
#include <gtest/gtest.h>

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"
#include "ops/registry.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;

class LibraryEngines : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto module = open_cuda_module();
    auto opened = module ? (*module)->open(0, "")
                         : Result<std::unique_ptr<CudaDevice>>(module.error());
    if (!opened) GTEST_SKIP() << "needs a GPU: " << opened.error().message;
    device_ = *std::move(opened);
    if (!suits_library_layers(device_->profile())) {
      GTEST_SKIP() << "plans for this GPU have no layers of the library";
    }
  }

  void expect(std::string_view op, const TypeList& inputs, const Attrs& attrs) {
    const auto outputs = find_op(op)->infer(inputs, attrs);
    ASSERT_TRUE(outputs) << outputs.error().message;
    const CudaCatalog catalog(device_->profile(), {.library_layers = true});
    const auto code = catalog.code({find_op(op), inputs, *outputs, &attrs});
    ASSERT_TRUE(code) << code.error().message;
    ASSERT_TRUE(code->name.ends_with(kCompiledLayer))
        << code->name << "(" << graph::to_string(inputs) << ")";
    const auto work = device_->prepare(code->stages[0]);
    EXPECT_TRUE(work) << work.error().message;
    ++seen_;
  }

  std::unique_ptr<CudaDevice> device_;
  int seen_ = 0;
};

TEST_F(LibraryEngines, Attention) {
  const auto both = [&](std::int64_t batch, std::int64_t queries,
                        std::int64_t keys, std::int64_t heads,
                        std::int64_t key_heads, std::int64_t width, bool causal,
                        DType dtype) {
    const TensorType q{dtype, {batch, queries, heads, width}};
    const TensorType k{dtype, {batch, keys, key_heads, width}};
    Attrs attrs;
    if (causal) attrs.set("causal", true);
    expect("attention", {q, k, k}, attrs);
    expect("attention_grad",
           {q, q, k, k, q, {DType::f32, {batch, heads, queries}}}, attrs);
  };
  for (const std::int64_t width : {8, 24, 40, 64, 80, 96, 128}) {
    both(32, 512, 512, 16, 16, width, true, DType::bf16);
  }
  for (const std::int64_t length : {64, 65, 127, 197, 1000, 2049}) {
    both(64, length, length, 8, 8, 64, length % 2 == 1, DType::bf16);
    both(64, length, 333, 8, 8, 128, false, DType::f16);
  }
  for (const std::int64_t key_heads : {1, 2, 8}) {
    both(2, 1024, 1024, 32, key_heads, 128, true, DType::bf16);
  }
  EXPECT_EQ(seen_, 44);
}

TEST_F(LibraryEngines, BatchNormalization) {
  Attrs attrs;
  attrs.set("epsilon", 1e-5);
  const auto both = [&](const Shape& shape, DType dtype) {
    const TensorType x{dtype, shape};
    const TensorType c{DType::f32, {shape.extent(-1)}};
    expect("batch_norm", {x, c, c}, attrs);
    expect("batch_norm_grad", {x, x, c, c, c}, attrs);
  };
  for (const std::int64_t channels : {24, 40, 64, 136, 320, 960, 1280, 2048}) {
    both({256, 14, 14, channels}, DType::bf16);
    both({8, 224, 224, channels}, DType::f16);
  }
  both({65537, 72}, DType::bf16);
  both({8, 20000, 64}, DType::bf16);
  both({3, 1000, 1, 1024}, DType::f16);
  EXPECT_EQ(seen_, 38);
}

TEST_F(LibraryEngines, BackThroughLongRows) {
  const Attrs attrs = {{"epsilon", 1e-5}};
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::int64_t length : {16384, 32768, 65536, 131072}) {
      for (const std::int64_t rows : {256, 1000, 4096}) {
        const TensorType x{dtype, {rows, length}};
        const TensorType gamma{DType::f32, {length}};
        const TensorType statistic{DType::f32, {rows}};
        expect("rms_norm_grad", {x, x, gamma, statistic}, attrs);
        expect("layer_norm_grad", {x, x, gamma, statistic, statistic}, attrs);
      }
    }
  }
  EXPECT_EQ(seen_, 48);
}

TEST_F(LibraryEngines, AveragesBack) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::int64_t channels : {192, 264, 520}) {
      for (const Shape& shape :
           {Shape{64, 35, 35, channels}, Shape{16, 79, 80, channels}}) {
        Attrs attrs = {{"window", std::vector<std::int64_t>{3, 3}},
                       {"strides", std::vector<std::int64_t>{1, 1}},
                       {"padding", std::vector<std::int64_t>{1, 1, 1, 1}},
                       {"height", shape.extent(1)},
                       {"width", shape.extent(2)}};
        expect("avg_pool2d_grad", {{dtype, shape}}, attrs);
      }
    }
  }
  EXPECT_EQ(seen_, 12);
}

}  // namespace
}  // namespace plimsoll::ops
