#include <algorithm>

#include "images.h"

namespace plimsoll::examples {

Example vgg16(const VggSize& size) {
  constexpr int kConvolutions[] = {2, 2, 3, 3, 3};
  const auto x = Input({size.image, size.image, 3});
  auto y = x;
  std::int64_t filters = size.width;
  for (const int count : kConvolutions) {
    for (int i = 0; i < count; ++i) {
      Layer conv = Conv2D(filters, {3, 3}, {.padding = 1, .activation = relu});
      conv.kernel_initializer = "he_normal";
      y = conv(y);
    }
    y = MaxPooling2D()(y);
    filters = std::min(2 * filters, 8 * size.width);
  }
  y = Flatten()(y);
  for (int i = 0; i < 2; ++i) y = Dropout(0.5)(Dense(size.hidden, relu)(y));
  y = Dense(size.classes)(y);
  return {"vgg16",
          Model(x, y),
          labelled_images(size.image, size.classes, size.examples, size.batch),
          // 0.01 at batch 256, as published.
          {.optimizer = SGD{.learning_rate = 0.000625, .momentum = 0.9},
           .loss = sparse_categorical_crossentropy},
          "16GiB"};
}

}  // namespace plimsoll::examples
