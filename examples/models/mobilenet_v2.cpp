#include <algorithm>
#include <cmath>
#include <span>

#include "images.h"

namespace plimsoll::examples {
namespace {

// The nearest multiple of 8 that is not more than a tenth smaller.
std::int64_t whole_channels(double channels) {
  const auto rounded = std::max<std::int64_t>(
      8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

struct Block {
  std::int64_t expansion, channels, count, stride;
};
constexpr Block kBlocks[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2},
                             {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
                             {6, 320, 1, 1}};

LayerOutput inverted_residual(const LayerOutput& x, const std::string& name,
                              const Block& block, std::int64_t in,
                              std::int64_t out, std::int64_t stride) {
  auto y = x;
  if (block.expansion > 1) {
    y = conv_norm(y, name + "_expand", Conv2D(in * block.expansion, {1, 1}),
                  "relu6");
  }
  y = conv_norm(
      y, name + "_depthwise",
      DepthwiseConv2D({3, 3}, {.strides = {stride, stride}, .padding = 1}),
      "relu6");
  y = conv_norm(y, name + "_project", Conv2D(out, {1, 1}));
  if (stride > 1 || in != out) return y;
  return Add().named(name + "_add")({x, y});
}

}  // namespace

Example mobilenet_v2(const MobileNetSize& size) {
  const auto scaled = [&](std::int64_t channels) {
    return whole_channels(static_cast<double>(channels) * size.width);
  };
  const auto x = Input({size.image, size.image, 3});
  std::int64_t channels = scaled(32);
  auto y = conv_norm(
      x, "conv", Conv2D(channels, {3, 3}, {.strides = {2, 2}, .padding = 1}),
      "relu6");
  int number = 0;
  for (const Block& block :
       std::span(kBlocks).first(static_cast<std::size_t>(size.kinds))) {
    for (std::int64_t i = 0; i < std::min(block.count, size.most); ++i) {
      const std::int64_t out = scaled(block.channels);
      y = inverted_residual(y, "block_" + std::to_string(++number), block,
                            channels, out, i == 0 ? block.stride : 1);
      channels = out;
    }
  }
  const auto last = size.width > 1 ? scaled(size.last) : size.last;
  y = conv_norm(y, "last", Conv2D(last, {1, 1}), "relu6");
  y = Dropout(0.2)(GlobalAveragePooling2D()(y));
  y = Dense(size.classes).named("classifier")(y);
  return {"mobilenet_v2",
          Model(x, y),
          labelled_images(size.image, size.classes, size.examples, size.batch),
          {.optimizer = SGD{.learning_rate = 0.045, .momentum = 0.9},
           .loss = sparse_categorical_crossentropy},
          "16GiB"};
}

}  // namespace plimsoll::examples
