#include <vector>

#include "images.h"

namespace plimsoll::examples {
namespace {

LayerOutput two_convolutions(const LayerOutput& x, const std::string& name,
                             std::int64_t filters) {
  const Layer conv = Conv2D(filters, {3, 3}, {.padding = 1});
  return conv_norm(conv_norm(x, name + "_1", conv, "relu"), name + "_2", conv,
                   "relu");
}

}  // namespace

Example unet(const UNetSize& size) {
  const auto x = Input({size.image, size.image, size.channels});
  auto y = two_convolutions(x, "down_0", size.width);
  std::vector<LayerOutput> skips;
  for (std::int64_t i = 1; i <= size.depth; ++i) {
    skips.push_back(y);
    y = two_convolutions(MaxPooling2D()(y), "down_" + std::to_string(i),
                         size.width << i);
  }
  for (std::int64_t i = size.depth; i-- > 0;) {
    const std::int64_t filters = size.width << i;
    const std::string name = "up_" + std::to_string(i);
    y = Conv2DTranspose(filters, {2, 2}, {.strides = {2, 2}}).named(name)(y);
    y = Concatenate().named(name + "_join")({skips.back(), y});
    skips.pop_back();
    y = two_convolutions(y, name + "_conv", filters);
  }
  y = Conv2D(size.classes, {1, 1}).named("pixels")(y);
  return {"unet",
          Model(x, y),
          data::random(size.examples, {size.image, size.image, size.channels},
                       data::Dataset::Labels::classes, {size.image, size.image},
                       size.classes)
              .shuffle()
              .batch(size.batch)
              .prefetch(),
          {.optimizer = Adam{.learning_rate = 1e-4},
           .loss = sparse_categorical_crossentropy},
          "16GiB"};
}

}  // namespace plimsoll::examples
