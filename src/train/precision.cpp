#include "train/precision.h"

#include <algorithm>

#include "ops/movement/movement.h"

namespace plimsoll::train {

DType compute_dtype(const Layer& layer, DType precision) {
  return parse_dtype(layer.precision).value_or(precision);
}

bool needs_loss_scale(const ModelSpec& model, DType precision) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [&](const LayerSpec& layer) {
                       return compute_dtype(layer, precision) == DType::f16;
                     });
}

graph::ValueId in_dtype(graph::Builder& builder, graph::ValueId value,
                        DType dtype) {
  if (!builder.ok() || !value.valid() ||
      !is_floating(builder.type(value).dtype)) {
    return value;
  }
  return ops::cast(builder, value, dtype);
}

}  // namespace plimsoll::train
