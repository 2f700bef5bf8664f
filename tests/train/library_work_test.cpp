#include "train/library_work.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll::train {
namespace {

cuda::Product product() {
  cuda::Product made;
  made.operands = DType::bf16;
  made.m = 1024;
  made.n = 50257;
  made.k = 768;
  made.transpose_b = true;
  made.out_row = 50304;
  made.workspace_bytes = 1 << 20;
  return made;
}

cuda::Convolution convolution() {
  cuda::Convolution made;
  made.kind = cuda::Convolution::Kind::weight_grad;
  made.dtype = DType::bf16;
  made.x = {8, 56, 56, 64};
  made.w = {128, 3, 3, 64};
  made.y = {8, 28, 28, 128};
  made.strides = {2, 2};
  made.padding = {0, 1, 0, 1};
  return made;
}

cuda::Attention attention() {
  cuda::Attention made;
  made.backward = true;
  made.dtype = DType::f16;
  made.batch = 4;
  made.queries = 1000;
  made.keys = 1024;
  made.heads = 12;
  made.key_heads = 4;
  made.width = 64;
  made.scale = 1 / std::sqrt(64.0) / 3;
  made.causal = true;
  made.part_batch = 1;
  made.part_heads = 6;
  made.workspace_bytes = 1 << 22;
  made.levels_offset_bytes = 1 << 23;
  return made;
}

cuda::Normalization normalization() {
  cuda::Normalization made;
  made.kind = cuda::Normalization::Kind::rms;
  made.backward = true;
  made.dtype = DType::f16;
  made.x = {8, 56, 50, 64};
  made.epsilon = 1e-5;
  made.workspace_bytes = 1 << 20;
  return made;
}

cuda::AveragePoolGrad pooling() {
  cuda::AveragePoolGrad made;
  made.dtype = DType::f16;
  made.images = {8, 56, 50, 64};
  made.result = {8, 28, 24, 64};
  made.window = {3, 5};
  made.strides = {2, 4};
  made.padding = {0, 1, 2, 3};
  made.workspace_bytes = 1 << 20;
  return made;
}

TEST(LibraryWork, TextSaysAllThatDecides) {
  const std::vector<cuda::Stage> work = {attention(), pooling(), convolution(),
                                         product(), normalization()};
  const auto read = library_work_from_text(to_text(work));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 5u);
  EXPECT_EQ(std::get<cuda::Attention>((*read)[0]), attention());
  EXPECT_EQ(std::get<cuda::AveragePoolGrad>((*read)[1]), pooling());
  EXPECT_EQ(std::get<cuda::Convolution>((*read)[2]), convolution());
  EXPECT_EQ(std::get<cuda::Product>((*read)[3]), product());
  EXPECT_EQ(std::get<cuda::Normalization>((*read)[4]), normalization());
}

// What a line begins with is what tells whether work is to be rehearsed.
TEST(LibraryWork, NormalizationsAreKindsOfTheirOwn) {
  using Kind = cuda::Normalization::Kind;
  for (const auto& [kind, start] : {std::pair(Kind::batch, "1 batch_norm f16 "),
                                    std::pair(Kind::layer, "1 layer_norm f16 "),
                                    std::pair(Kind::rms, "1 rms_norm f16 ")}) {
    cuda::Normalization made = normalization();
    made.kind = kind;
    const std::string text = to_text({made});
    EXPECT_TRUE(text.starts_with(start)) << text;
    const auto read = library_work_from_text(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(std::get<cuda::Normalization>((*read)[0]), made);
  }
}

TEST(LibraryWork, TellsWhatIsCompiled) {
  for (const cuda::Stage& stage :
       {cuda::Stage(attention()), cuda::Stage(normalization()),
        cuda::Stage(pooling())}) {
    EXPECT_TRUE(is_compiled(stage)) << stage.index();
  }
  for (const cuda::Stage& stage :
       {cuda::Stage(product()), cuda::Stage(convolution()),
        cuda::Stage(cuda::Function())}) {
    EXPECT_FALSE(is_compiled(stage)) << stage.index();
  }
}

TEST(LibraryWork, KindsAreCountedWhereverTheirOperandsLie) {
  cuda::Product elsewhere = product();
  elsewhere.a_at.offset_bytes = 4096;
  elsewhere.workspace_offset_bytes = 512;
  EXPECT_EQ(to_text({product(), elsewhere}), to_text({product(), product()}));
  EXPECT_NE(to_text({product(), elsewhere}), to_text({product()}));
  cuda::Product other = product();
  other.output = DType::bf16;
  const auto read = library_work_from_text(to_text({product(), other, other}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->size(), 3u);
}

TEST(LibraryWork, TextThatIsNoWorkIsRefused) {
  const std::string text = to_text({product()});
  std::string unknown = to_text({convolution()});
  const auto kind = unknown.find(" 2 ");
  ASSERT_NE(kind, std::string::npos) << unknown;
  unknown[kind + 1] = '3';
  for (const std::string& wrong :
       {std::string("1 sum 1 2\n"), text.substr(0, text.size() / 2) + "\n",
        unknown, unknown + text, text.substr(0, text.size() - 1) + " 1"}) {
    EXPECT_FALSE(library_work_from_text(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace plimsoll::train
