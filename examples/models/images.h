// What the networks over images share.
#pragma once

#include "models.h"

namespace plimsoll::examples {

// A convolution without a bias, normalized as torchvision does it.
inline LayerOutput conv_norm(const LayerOutput& x, const std::string& name,
                             Layer conv, const char* activation = nullptr) {
  conv.use_bias = false;
  conv.kernel_initializer = "he_normal";
  Layer norm = BatchNormalization(0.9, 1e-5);
  norm.unbiased = true;
  auto y = norm.named(name + "_bn")(conv.named(name)(x));
  if (activation == nullptr) return y;
  return Activation({activation}).named(name + "_" + activation)(y);
}

// Images of three channels and their classes.
inline data::Dataset labelled_images(std::int64_t image, std::int64_t classes,
                                     std::int64_t examples,
                                     std::int64_t batch) {
  return data::random(examples, {image, image, 3},
                      data::Dataset::Labels::classes, {}, classes)
      .shuffle()
      .batch(batch)
      .prefetch();
}

}  // namespace plimsoll::examples
