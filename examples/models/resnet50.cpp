#include "images.h"

namespace plimsoll::examples {
namespace {

// 1x1, 3x3, 1x1 beside a shortcut; the stride is that of the 3x3.
LayerOutput bottleneck(const LayerOutput& x, const std::string& name,
                       std::int64_t width, std::int64_t stride, bool projects) {
  auto y = conv_norm(x, name + "_1", Conv2D(width, {1, 1}), "relu");
  y = conv_norm(
      y, name + "_2",
      Conv2D(width, {3, 3}, {.strides = {stride, stride}, .padding = 1}),
      "relu");
  y = conv_norm(y, name + "_3", Conv2D(4 * width, {1, 1}));
  const auto shortcut =
      projects
          ? conv_norm(x, name + "_0",
                      Conv2D(4 * width, {1, 1}, {.strides = {stride, stride}}))
          : x;
  y = Add().named(name + "_add")({y, shortcut});
  return Activation(relu).named(name + "_out")(y);
}

}  // namespace

Example resnet50(const ResNetSize& size) {
  const auto x = Input({size.image, size.image, 3});
  auto y = conv_norm(
      x, "conv1", Conv2D(size.width, {7, 7}, {.strides = {2, 2}, .padding = 3}),
      "relu");
  y = MaxPooling2D({.pool_size = {3, 3}, .strides = {2, 2}, .padding = 1})(y);
  for (std::size_t stage = 0; stage < size.blocks.size(); ++stage) {
    for (std::int64_t i = 0; i < size.blocks[stage]; ++i) {
      const std::string name =
          "conv" + std::to_string(stage + 2) + "_" + std::to_string(i + 1);
      y = bottleneck(y, name, size.width << stage, i == 0 && stage > 0 ? 2 : 1,
                     i == 0);
    }
  }
  y = Dense(size.classes).named("fc")(GlobalAveragePooling2D()(y));
  return {"resnet50",
          Model(x, y),
          labelled_images(size.image, size.classes, size.examples, size.batch),
          // 0.1 at batch 256, as published.
          {.optimizer = SGD{.learning_rate = 0.0125, .momentum = 0.9},
           .loss = sparse_categorical_crossentropy},
          "16GiB"};
}

}  // namespace plimsoll::examples
