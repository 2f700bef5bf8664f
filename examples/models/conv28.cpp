#include "models.h"

namespace plimsoll::examples {

Example conv28(const Conv28Size& size) {
  const auto x = Input({size.resized, size.resized, 1});
  auto y = Conv2D(size.filters, {3, 3}, {.activation = relu})(x);
  y = Dense(size.classes)(Flatten()(y));
  auto data = data::random(size.examples, {size.image, size.image, 1},
                           data::Dataset::Labels::uniform, {size.classes});
  return {"conv28",
          Model(x, y),
          data.resize(size.resized, size.resized)
              .shuffle()
              .batch(size.batch)
              .prefetch(),
          {.optimizer = Adam{}, .loss = mean_squared_error},
          "1GiB"};
}

}  // namespace plimsoll::examples
