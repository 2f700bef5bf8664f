// Well-known networks, each with its data and how it is trained. A size makes
// each of them as small as a test needs it; its defaults are the published
// ones.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plimsoll/plimsoll.h"

namespace plimsoll::examples {

struct Example {
  std::string name;
  Model model;
  data::Dataset data;  // random, of the right shapes
  CompileOptions compile;
  std::string host_memory;  // that a job on the CPU may use
};

// One convolution over small images that the pipeline makes larger.
struct Conv28Size {
  std::int64_t image = 28, resized = 64, filters = 32, classes = 10;
  std::int64_t batch = 32, examples = 60000;
};
Example conv28(const Conv28Size& size = {});

// As torchvision's: 25,557,032 parameters.
struct ResNetSize {
  std::int64_t image = 224, classes = 1000, width = 64;
  std::array<std::int64_t, 4> blocks{3, 4, 6, 3};
  std::int64_t batch = 32, examples = 12800;
};
Example resnet50(const ResNetSize& size = {});

// As torchvision's: 3,504,872 parameters.
struct MobileNetSize {
  std::int64_t image = 224, classes = 1000;
  double width = 1;          // of all other channels
  std::int64_t kinds = 7;    // of blocks
  std::int64_t most = 4;     // blocks of one kind in a row
  std::int64_t last = 1280;  // channels of the last convolution
  std::int64_t batch = 32, examples = 12800;
};
Example mobilenet_v2(const MobileNetSize& size = {});

// As torchvision's without batch normalization: 138,357,544 parameters.
struct VggSize {
  std::int64_t image = 224, classes = 1000, width = 64, hidden = 4096;
  std::int64_t batch = 16, examples = 6400;
};
Example vgg16(const VggSize& size = {});

// Classes of pixels; with batch normalization and learned upsampling.
struct UNetSize {
  std::int64_t image = 256, channels = 3, classes = 2, width = 64, depth = 4;
  std::int64_t batch = 4, examples = 1600;
};
Example unet(const UNetSize& size = {});

// 124,439,808 parameters. Predicts each next token.
struct Gpt2Size {
  std::int64_t vocabulary = 50257, context = 1024, tokens = 1024;
  std::int64_t width = 768, heads = 12, layers = 12;
  double dropout = 0;
  std::int64_t batch = 4, examples = 1600;
};
Example gpt2(const Gpt2Size& size = {});

// Predicts masked words. An example is three rows of `tokens` numbers, one
// behind the other: words, segments (0 or 1) and 1 where a word is.
struct BertSize {
  std::int64_t vocabulary = 30522, context = 512, tokens = 128;
  std::int64_t width = 768, heads = 12, layers = 12;
  std::int64_t batch = 8, examples = 3200;
};
Example bert_base(const BertSize& size = {});

// The next value of a series from the steps before it.
struct ForecasterSize {
  std::int64_t steps = 96, features = 8, units = 128;
  std::int64_t batch = 64, examples = 25600;
};
Example lstm_forecaster(const ForecasterSize& size = {});

// Whether a user takes to an item, by the product of their two vectors. An
// example is the numbers of both.
struct RecommenderSize {
  std::int64_t users = 100000, items = 100000, width = 64;
  std::int64_t batch = 256, examples = 256000;
};
Example two_tower(const RecommenderSize& size = {});

// All of them, as published, and so small that they can be compared with stored
// results of PyTorch.
std::vector<Example> published_networks();
std::vector<Example> small_networks();

// The whole job file.
std::string job_text(const Example& example);

}  // namespace plimsoll::examples
