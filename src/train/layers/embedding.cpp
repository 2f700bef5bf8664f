// Rows of a table, by class index.
#include "ops/embedding/embedding.h"

#include <fmt/core.h>

#include "train/layers/layer_def.h"
#include "train/precision.h"

namespace plimsoll {
namespace train {
namespace {

constexpr LayerKey kKeys[] = {
    {.key = "input_dim",
     .field = &Layer::input_dim,
     .needed = "`input_dim`, the number of classes"},
    {.key = "output_dim",
     .field = &Layer::output_dim,
     .needed = "`output_dim`, the width of a row"},
    keys::kEmbeddingsInitializer,
};

Result<LayerResult> build_embedding(LayerContext& context) {
  const Layer& layer = context.layer;
  if (!context.indices()) {
    return context.wrong(
        "embedding takes class indices: it must read the model's input, as it "
        "is or by way of layers that only move it");
  }
  if (layer.input_dim < 1 || layer.output_dim < 1) {
    return context.wrong(
        fmt::format("embedding needs input_dim and output_dim of at least 1, "
                    "not {} and {}",
                    layer.input_dim, layer.output_dim));
  }
  // Rows of the master are cast, not the whole table.
  const graph::ValueId table = context.master(
      "embeddings", {layer.input_dim, layer.output_dim},
      layer.embeddings_initializer, layer.input_dim, layer.output_dim);
  return LayerResult(in_dtype(
      context.builder, ops::embedding(context.builder, table, context.x()),
      context.dtype()));
}

}  // namespace

const LayerDef kEmbedding = {.type = "embedding",
                             .keys = kKeys,
                             .build = build_embedding,
                             .indices = LayerDef::Indices::read};

}  // namespace train

Layer Embedding(std::int64_t input_dim, std::int64_t output_dim) {
  Layer layer = train::make_layer("embedding");
  layer.input_dim = input_dim;
  layer.output_dim = output_dim;
  return layer;
}

}  // namespace plimsoll
