// The networks of examples/models: as large as published, and the same in C++
// and as job files.
#include "models.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "train/job_file/job_file.h"
#include "train/layers/layer_text.h"

namespace plimsoll::examples {
namespace {

TEST(Models, HaveAsManyParametersAsPublished) {
  EXPECT_EQ(conv28().model.parameters(), 32 * 9 + 32 + 62 * 62 * 32 * 10 + 10);
  EXPECT_EQ(resnet50().model.parameters(), 25'557'032);
  EXPECT_EQ(mobilenet_v2().model.parameters(), 3'504'872);
  EXPECT_EQ(vgg16().model.parameters(), 138'357'544);
  EXPECT_EQ(unet().model.parameters(), 31'037'698);
  EXPECT_EQ(gpt2().model.parameters(), 124'439'808);
  // Published: 109,482,240 with a pooler. The word head's transform is as large
  // as that, and has a normalization.
  EXPECT_EQ(bert_base().model.parameters(), 109'482'240 + 2 * 768);
}

TEST(Models, AreTheSameAsTheirJobFiles) {
  for (const Example& example : published_networks()) {
    const std::string path =
        std::string(PLIMSOLL_MODELS) + "/" + example.name + ".toml";
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), job_text(example))
        << "write them again: write_jobs examples/models";
    const auto job = train::read_job_file(path, {});
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(train::to_toml(job->model), example.model.to_toml());
  }
}

// By hand: a convolution, a flattening, a product.
TEST(Models, TheirSummaryIsThePlans) {
  Session session({.host = "1GiB", .threads = 1});
  auto example = conv28(
      {.image = 8, .resized = 12, .filters = 4, .batch = 8, .examples = 80});
  example.model.compile(session, example.compile);
  const std::string text = example.model.summary(example.data);
  const auto row = [&](const std::string& name) {
    const auto at = text.find(name + " ");
    return at == std::string::npos ? ""
                                   : text.substr(at, text.find('\n', at) - at);
  };
  // Kernels and biases three times: Adam keeps two moments of each. The
  // convolution's output serves the next layer's gradient and its own relu's.
  const std::string conv = row("conv2d_1");
  EXPECT_NE(conv.find("[B, 10, 10, 4]"), std::string::npos) << text;
  EXPECT_NE(conv.find(" 40 "), std::string::npos) << text;
  EXPECT_NE(conv.find(" 480 B"), std::string::npos) << text;
  EXPECT_NE(conv.find(" 12,800 B"), std::string::npos) << text;
  const std::string dense = row("dense_1");
  EXPECT_NE(dense.find("[B, 10]"), std::string::npos) << text;
  EXPECT_NE(dense.find(" 4,010 "), std::string::npos) << text;
  EXPECT_NE(dense.find(" 48,120 B"), std::string::npos) << text;
  EXPECT_NE(row("total").find(" 4,050 "), std::string::npos) << text;
}

}  // namespace
}  // namespace plimsoll::examples
