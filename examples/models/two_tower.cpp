#include <algorithm>

#include "models.h"

namespace plimsoll::examples {
namespace {

LayerOutput tower(const LayerOutput& x, const std::string& name,
                  std::int64_t column, std::int64_t rows, std::int64_t width) {
  auto y = Slice(column, column + 1).named(name)(x);
  y = Embedding(rows, width).named(name + "_embedding")(y);
  y = Flatten().named(name + "_flat")(y);
  y = Dense(2 * width, relu).named(name + "_hidden")(y);
  return Dense(width).named(name + "_vector")(y);
}

}  // namespace

Example two_tower(const RecommenderSize& size) {
  const auto x = Input({2});
  const auto user = tower(x, "user", 0, size.users, size.width);
  const auto item = tower(x, "item", 1, size.items, size.width);
  const auto y = Activation(sigmoid)(Dot().named("match")({user, item}));
  return {"two_tower",
          Model(x, y),
          data::random(size.examples, {2}, data::Dataset::Labels::binary, {}, 0,
                       std::min(size.users, size.items))
              .shuffle()
              .batch(size.batch)
              .prefetch(),
          {.optimizer = Adam{},
           .loss = binary_crossentropy,
           .metrics = {"accuracy"}},
          "1GiB"};
}

}  // namespace plimsoll::examples
