#include "train/library_work.h"

#include <gtest/gtest.h>

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

TEST(LibraryWork, TextSaysAllThatDecides) {
  const auto read = library_work_from_text(to_text({convolution(), product()}));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(std::get<cuda::Convolution>((*read)[0]), convolution());
  EXPECT_EQ(std::get<cuda::Product>((*read)[1]), product());
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
  for (const std::string& wrong :
       {std::string("1 sum 1 2\n"), text.substr(0, text.size() / 2) + "\n",
        "1 convolution 7 bf16 1\n" + text,
        text.substr(0, text.size() - 1) + " 1"}) {
    EXPECT_FALSE(library_work_from_text(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace plimsoll::train
