// Products with a matrix of weights: their own, or an embedding's table.
#include <fmt/core.h>

#include "ops/matmul/matmul.h"
#include "train/layers/layer_def.h"
#include "train/precision.h"

namespace plimsoll {
namespace train {
namespace {

using graph::ValueId;

constexpr LayerKey kKeys[] = {
    {.key = "units",
     .field = &Layer::units,
     .needed = "`units`, the number of its outputs"},
    keys::kActivation,
    keys::kUseBias,
    keys::kKernelInitializer,
    keys::kBiasInitializer,
    {.key = "shared_with", .field = &Layer::shared_with},
    keys::kNegativeSlope,
};

// The table of the embedding that it shares, [units, width].
Result<ValueId> shared_table(const LayerContext& context, std::int64_t width) {
  const Layer& layer = context.layer;
  const Parameter* table =
      context.find_parameter(layer.shared_with + "/embeddings");
  if (table == nullptr) {
    return context.wrong(
        fmt::format("shared_with: there is no embedding named `{}` above it",
                    layer.shared_with));
  }
  const Shape wanted{layer.units, width};
  const Shape& shape = context.builder.type(table->value).shape;
  if (shape == wanted) {
    return in_dtype(context.builder, table->value, context.dtype());
  }
  return context.wrong(fmt::format(
      "dense needs {} to make {} units of an input {}, but the table of `{}` "
      "is {}",
      wanted.to_string(), layer.units, context.shape().to_string(),
      layer.shared_with, shape.to_string()));
}

Result<LayerResult> build_dense(LayerContext& context) {
  const Layer& layer = context.layer;
  if (context.shape().rank() < 2) {
    return context.wrong(
        fmt::format("dense needs an input of shape [B, ..., n], not {}",
                    context.shape().to_string()));
  }
  const std::int64_t width = context.channels();
  LinearHead head{context.builder.place(), context.x(), ValueId(),
                  !layer.shared_with.empty()};
  if (head.transposed) {
    PLIMSOLL_ASSIGN(head.weight, shared_table(context, width));
  } else {
    head.weight =
        context.parameter("kernel", {width, layer.units},
                          layer.kernel_initializer, width, layer.units);
  }
  const ValueId product =
      ops::matmul(context.builder, head.x, head.weight, false, head.transposed);
  const ValueId logits = context.add_bias(product, layer.units);
  if (layer.use_bias) {
    head.bias = context.find_parameter(context.name + "/bias")->value;
  }
  LayerResult result = context.activate(logits);
  const bool plain = result.value == logits || result.activation == "softmax";
  if (plain && result.logits == logits) result.head = head;
  return result;
}

}  // namespace

const LayerDef kDense = {.type = "dense", .keys = kKeys, .build = build_dense};

}  // namespace train

Layer Dense(std::int64_t units, ActivationFunction activation) {
  Layer layer = train::make_layer("dense");
  layer.units = units;
  layer.activation = activation.name;
  return layer;
}

Layer TiedDense(std::int64_t units, std::string embedding) {
  Layer layer = Dense(units);
  layer.use_bias = false;
  layer.shared_with = std::move(embedding);
  return layer;
}

}  // namespace plimsoll
