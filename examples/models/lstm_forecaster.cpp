#include "models.h"

namespace plimsoll::examples {

Example lstm_forecaster(const ForecasterSize& size) {
  const auto x = Input({size.steps, size.features});
  auto y = LSTM(size.units, true)(x);
  y = Dense(1)(LSTM(size.units)(y));
  return {"lstm_forecaster",
          Model(x, y),
          data::random(size.examples, {size.steps, size.features},
                       data::Dataset::Labels::uniform, {1})
              .shuffle()
              .batch(size.batch)
              .prefetch(),
          {.optimizer = Adam{}, .loss = mean_squared_error},
          "1GiB"};
}

}  // namespace plimsoll::examples
