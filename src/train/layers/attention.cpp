#include "ops/attention/attention.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "train/layers/layer_def.h"

namespace plimsoll {
namespace train {
namespace {

using graph::ValueId;

constexpr LayerKey kKeys[] = {
    {.key = "num_heads",
     .field = &Layer::num_heads,
     .needed = "`num_heads`, the number of its heads"},
    {.key = "key_dim",
     .field = &Layer::key_dim,
     .needed = "`key_dim`, the width of one head"},
    {.key = "num_key_value_heads", .field = &Layer::num_key_value_heads},
    {.key = "causal", .field = &Layer::causal},
    {.key = "mask", .field = &Layer::mask},
    keys::kUseBias,
    keys::kKernelInitializer,
    keys::kBiasInitializer,
};

// x [B, S, D] by a matrix of the layer's own, with a bias where it has them.
ValueId project(LayerContext& context, ValueId x, const char* part,
                std::int64_t units) {
  const Layer& layer = context.layer;
  graph::Builder& builder = context.builder;
  const std::int64_t width = builder.type(x).shape.extent(-1);
  const std::string prefix = std::string(part) + "/";
  const ValueId kernel =
      context.parameter(prefix + "kernel", {width, units},
                        layer.kernel_initializer, width, units);
  const ValueId product = ops::matmul(builder, x, kernel);
  if (!layer.use_bias) return product;
  return ops::add(builder, product,
                  context.parameter(prefix + "bias", {units},
                                    layer.bias_initializer, units, units));
}

ValueId heads(LayerContext& context, ValueId x, const char* part,
              std::int64_t count) {
  const std::int64_t key_dim = context.layer.key_dim;
  const Shape shape = context.builder.type(x).shape;
  return ops::reshape(context.builder,
                      project(context, x, part, count * key_dim),
                      Shape{shape[0], shape[1], count, key_dim});
}

// [B, T] or [B, S, T] as the op takes it, or an error.
Result<std::optional<ValueId>> mask_of(LayerContext& context, ValueId query,
                                       const Shape& queries,
                                       const Shape& keys) {
  if (!context.mask) return std::optional<ValueId>();
  graph::Builder& builder = context.builder;
  const Shape shape = builder.type(*context.mask).shape;
  const Shape narrow{queries[0], keys[1]};
  const Shape wide{queries[0], queries[1], keys[1]};
  if (shape != narrow && shape != wide) {
    return context.wrong(
        fmt::format("mask: must be {} or {} for queries {} and keys {}, not {}",
                    narrow.to_string(), wide.to_string(), queries.to_string(),
                    keys.to_string(), shape.to_string()));
  }
  const DType dtype = builder.type(query).dtype;
  ValueId mask = *context.mask;
  if (builder.type(mask).dtype != dtype) mask = ops::cast(builder, mask, dtype);
  const Dim rows = shape == narrow ? Dim(1) : queries[1];
  return std::optional(
      ops::reshape(builder, mask, Shape{queries[0], 1, rows, keys[1]}));
}

Status check(const LayerContext& context) {
  const Layer& layer = context.layer;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    const Shape& shape = context.shape(i);
    if (shape.rank() == 3 && (i < 2 || shape[1] == context.shape(1)[1])) {
      continue;
    }
    return context.wrong(fmt::format(
        "multi_head_attention takes queries [B, S, D], and values and keys [B, "
        "T, D], not {}",
        context.builder.type(context.inputs[i]).to_string()));
  }
  const std::int64_t shared = layer.num_key_value_heads;
  if (shared > 0 && layer.num_heads % shared != 0) {
    return context.wrong(fmt::format(
        "num_key_value_heads: must divide num_heads, but {} does not divide {}",
        shared, layer.num_heads));
  }
  return {};
}

Result<LayerResult> build_attention(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check(context));
  const Layer& layer = context.layer;
  graph::Builder& builder = context.builder;
  const ValueId query = context.inputs[0];
  const ValueId value = context.inputs.size() > 1 ? context.inputs[1] : query;
  const ValueId key = context.inputs.size() > 2 ? context.inputs[2] : value;
  const Shape queries = builder.type(query).shape;
  const Shape keys = builder.type(key).shape;
  const std::int64_t shared = layer.num_key_value_heads > 0
                                  ? layer.num_key_value_heads
                                  : layer.num_heads;
  const ValueId q = heads(context, query, "query", layer.num_heads);
  const ValueId k = heads(context, key, "key", shared);
  const ValueId v = heads(context, value, "value", shared);
  if (!builder.ok()) return LayerResult(q);
  PLIMSOLL_ASSIGN(const auto mask, mask_of(context, q, queries, keys));
  ops::AttentionSettings settings;
  settings.causal = layer.causal;
  const ValueId made = ops::attention(builder, q, k, v, mask, settings);
  const std::int64_t width = layer.num_heads * layer.key_dim;
  const ValueId joined =
      ops::reshape(builder, made, Shape{queries[0], queries[1], width});
  if (!builder.ok()) return LayerResult(joined);
  return LayerResult(
      project(context, joined, "attention_output", queries.extent(-1)));
}

}  // namespace

const LayerDef kMultiHeadAttention = {.type = "multi_head_attention",
                                      .keys = kKeys,
                                      .build = build_attention,
                                      .most_inputs = 3};

}  // namespace train

Layer MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim,
                         const AttentionOptions& options) {
  Layer layer = train::make_layer("multi_head_attention");
  layer.num_heads = num_heads;
  layer.key_dim = key_dim;
  layer.num_key_value_heads = options.num_key_value_heads;
  layer.causal = options.causal;
  layer.use_bias = options.use_bias;
  return layer;
}

}  // namespace plimsoll
