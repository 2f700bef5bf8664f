// Layers that give the same elements another shape.
#include <fmt/core.h>

#include "ops/movement/movement.h"
#include "train/layers/layer_def.h"

namespace plimsoll {
namespace train {
namespace {

Result<LayerResult> build_flatten(LayerContext& context) {
  const Shape& shape = context.shape();
  std::int64_t width = 1;
  for (int i = 1; i < shape.rank(); ++i) width *= shape.extent(i);
  return LayerResult(
      ops::reshape(context.builder, context.x(), Shape{shape[0], width}));
}

}  // namespace

const LayerDef kFlatten = {.type = "flatten",
                           .build = build_flatten,
                           .indices = LayerDef::Indices::passed_on};

}  // namespace train

Layer Flatten() { return train::make_layer("flatten"); }

}  // namespace plimsoll
