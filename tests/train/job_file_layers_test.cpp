// Layers of normalization in job files: keys, defaults and mistakes.
#include <gtest/gtest.h>

#include "train/job_file/job_file.h"

namespace plimsoll::train {
namespace {

std::string job_with(const std::string& layer) {
  return R"([model]
input = [32]
layers = [
  )" + layer +
         R"(,
  { type = "dense", units = 1 },
]
[data]
source = { type = "random", examples = 100, features = [32], labels = { type = "binary" } }
[train]
loss = "binary_crossentropy"
)";
}

LayerSpec read(const std::string& layer) {
  const auto job = parse_job(job_with(layer), "job.toml", {});
  if (job) return job->model.layers[0];
  ADD_FAILURE() << job.error().message;
  return {};
}

std::string error_of(const std::string& layer) {
  const auto job = parse_job(job_with(layer), "job.toml", {});
  return job ? "(no error)" : job.error().message;
}

TEST(NormalizationInJobFiles, HasTheDefaultsOfKeras) {
  for (const char* type : {"layer", "group", "batch"}) {
    const LayerSpec layer =
        read("{ type = \"" + std::string(type) + "_normalization\" }");
    EXPECT_EQ(layer.epsilon, 1e-3) << type;
    EXPECT_TRUE(layer.scale) << type;
    EXPECT_TRUE(layer.center) << type;
    EXPECT_EQ(layer.groups, 32) << type;
    EXPECT_EQ(layer.momentum, 0.99) << type;
  }
  EXPECT_EQ(read("{ type = \"rms_normalization\" }").epsilon, 1e-6);
}

TEST(NormalizationInJobFiles, EveryKeyIsRead) {
  const LayerSpec batch = read(
      "{ type = \"batch_normalization\", name = \"b\", momentum = 0.9, epsilon "
      "= 0.01, scale = false, center = false, device = \"cpu\" }");
  EXPECT_EQ(batch.name, "b");
  EXPECT_EQ(batch.momentum, 0.9);
  EXPECT_EQ(batch.epsilon, 0.01);
  EXPECT_FALSE(batch.scale);
  EXPECT_FALSE(batch.center);
  EXPECT_EQ(batch.device, "cpu");
  const LayerSpec group = read(
      "{ type = \"group_normalization\", groups = 4, epsilon = 0.1, scale = "
      "false }");
  EXPECT_EQ(group.groups, 4);
  EXPECT_EQ(group.epsilon, 0.1);
  EXPECT_FALSE(group.scale);
  EXPECT_TRUE(group.center);
  EXPECT_FALSE(
      read("{ type = \"layer_normalization\", center = false }").center);
  EXPECT_EQ(read("{ type = \"rms_normalization\", epsilon = 0.5 }").epsilon,
            0.5);
}

TEST(NormalizationInJobFiles, MistakesAreNamed) {
  EXPECT_EQ(error_of("{ type = \"batch_normalisation\" }"),
            "job.toml:4: model.layers[0].type: unknown layer "
            "`batch_normalisation`; did you mean `batch_normalization`?");
  EXPECT_EQ(error_of("{ type = \"layer_normalization\", momentum = 0.5 }"),
            "job.toml:4: model.layers[0].momentum: unknown key `momentum` in a "
            "layer_normalization layer; it takes `type`, `name`, `inputs`, "
            "`epsilon`, `scale`, `center`, `device` and `precision`");
  EXPECT_EQ(error_of("{ type = \"rms_normalization\", center = false }"),
            "job.toml:4: model.layers[0].center: unknown key `center` in a "
            "rms_normalization layer; it takes `type`, `name`, `inputs`, "
            "`epsilon`, `device` and `precision`");
  EXPECT_EQ(error_of("{ type = \"batch_normalization\", momentum = 1 }"),
            "job.toml:4: model.layers[0].momentum: must be a number of at "
            "least 0 and below 1, not 1");
  EXPECT_EQ(
      error_of("{ type = \"layer_normalization\", epsilon = 0 }"),
      "job.toml:4: model.layers[0].epsilon: must be a number above 0, not 0");
  EXPECT_EQ(error_of("{ type = \"group_normalization\", groups = 0 }"),
            "job.toml:4: model.layers[0].groups: must be an integer from 1 to "
            "2147483647, not 0");
}

}  // namespace
}  // namespace plimsoll::train
