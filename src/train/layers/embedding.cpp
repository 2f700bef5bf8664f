// Rows of a table, by class index or by position.
#include "ops/embedding/embedding.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/window.h"
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

constexpr LayerKey kPositionKeys[] = {
    {.key = "sequence_length",
     .field = &Layer::sequence_length,
     .needed = "`sequence_length`, the number of positions"},
    keys::kEmbeddingsInitializer,
};

// x [B, S, D] with the table's first S rows added.
Result<LayerResult> build_position(LayerContext& context) {
  const Layer& layer = context.layer;
  const Shape shape = context.shape();
  if (shape.rank() != 3 || shape.extent(1) > layer.sequence_length) {
    return context.wrong(fmt::format(
        "position_embedding takes [B, S, D] with S up to its sequence_length "
        "of {}, not {}",
        layer.sequence_length, context.builder.type(context.x()).to_string()));
  }
  const std::int64_t width = shape.extent(-1);
  graph::ValueId rows = context.parameter(
      "embeddings", {layer.sequence_length, width},
      layer.embeddings_initializer, layer.sequence_length, width);
  if (shape.extent(1) < layer.sequence_length) {
    rows = ops::slice(context.builder, rows, {0, 0},
                      {shape.extent(1), ops::kToEnd});
  }
  return LayerResult(ops::add(context.builder, context.x(), rows));
}

Result<LayerResult> build_embedding(LayerContext& context) {
  const Layer& layer = context.layer;
  if (!context.reads_indices()) {
    return context.wrong(
        "embedding takes class indices: it must read the model's input, as it "
        "is or by way of layers that only move it");
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

const LayerDef kPositionEmbedding = {.type = "position_embedding",
                                     .keys = kPositionKeys,
                                     .build = build_position};

}  // namespace train

Layer PositionEmbedding(std::int64_t sequence_length) {
  Layer layer = train::make_layer("position_embedding");
  layer.sequence_length = sequence_length;
  return layer;
}

Layer Embedding(std::int64_t input_dim, std::int64_t output_dim) {
  Layer layer = train::make_layer("embedding");
  layer.input_dim = input_dim;
  layer.output_dim = output_dim;
  return layer;
}

}  // namespace plimsoll
