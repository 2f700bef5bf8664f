// Layers over the time steps of x [B, T, D].
#include "ops/recurrent/recurrent.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/movement/window.h"
#include "train/layers/layer_def.h"

namespace plimsoll {
namespace train {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr LayerKey kUnits = {.key = "units",
                             .field = &Layer::units,
                             .needed = "`units`, the width of its state"};
constexpr LayerKey kReturnSequences = {.key = "return_sequences",
                                       .field = &Layer::return_sequences};
constexpr LayerKey kGruKeys[] = {kUnits, kReturnSequences, keys::kUseBias,
                                 keys::kKernelInitializer,
                                 keys::kBiasInitializer};
constexpr LayerKey kLstmKeys[] = {
    kUnits,
    kReturnSequences,
    {.key = "unit_forget_bias", .field = &Layer::unit_forget_bias},
    keys::kUseBias,
    keys::kKernelInitializer,
    keys::kBiasInitializer};

Status check(const LayerContext& context) {
  if (context.shape().rank() == 3) return {};
  return context.wrong(fmt::format(
      "{} takes sequences [B, steps, features], not {}", context.layer.type,
      context.builder.type(context.x()).to_string()));
}

// x W + b, the sums of all gates and steps, and the recurrent kernel.
struct Sums {
  ValueId gates;
  ValueId recurrent;
};

Sums sums_of(LayerContext& context, std::int64_t gates) {
  const Layer& layer = context.layer;
  const std::int64_t width = context.channels();
  const std::int64_t units = gates * layer.units;
  const ValueId kernel = context.parameter(
      "kernel", {width, units}, layer.kernel_initializer, width, units);
  Sums sums;
  sums.recurrent =
      context.parameter("recurrent_kernel", {layer.units, units},
                        layer.kernel_initializer, layer.units, units);
  sums.gates = context.add_bias(
      ops::matmul(context.builder, context.x(), kernel), units);
  return sums;
}

// All states, or the last step's.
Result<LayerResult> give(LayerContext& context, ValueId states) {
  Builder& builder = context.builder;
  if (context.layer.return_sequences || !builder.ok()) {
    return LayerResult(states);
  }
  const Shape shape = builder.type(states).shape;
  const ValueId last = ops::slice(builder, states, {0, shape.extent(1) - 1, 0},
                                  {ops::kToEnd, ops::kToEnd, ops::kToEnd});
  return LayerResult(
      ops::reshape(builder, last, Shape{shape[0], context.layer.units}));
}

Result<LayerResult> build_lstm(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check(context));
  const Sums sums = sums_of(context, 4);
  if (context.layer.use_bias && context.layer.unit_forget_bias) {
    const std::int64_t units = context.layer.units;  // of the second gate
    context.start_bias_at_one(units, 2 * units);
  }
  return give(context, ops::lstm(context.builder, sums.gates, sums.recurrent));
}

Result<LayerResult> build_gru(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check(context));
  const Layer& layer = context.layer;
  const std::int64_t units = 3 * layer.units;
  const Sums sums = sums_of(context, 3);
  const ValueId bias =
      layer.use_bias
          ? context.parameter("recurrent_bias", {units}, layer.bias_initializer,
                              units, units)
          : ops::constant(context.builder, {context.dtype(), Shape{units}}, 0);
  return give(context,
              ops::gru(context.builder, sums.gates, sums.recurrent, bias));
}

Layer with(const char* type, std::int64_t units, bool return_sequences) {
  Layer layer = make_layer(type);
  layer.units = units;
  layer.return_sequences = return_sequences;
  return layer;
}

}  // namespace

const LayerDef kLstm = {.type = "lstm", .keys = kLstmKeys, .build = build_lstm};
const LayerDef kGru = {.type = "gru", .keys = kGruKeys, .build = build_gru};

}  // namespace train

Layer LSTM(std::int64_t units, bool return_sequences) {
  return train::with("lstm", units, return_sequences);
}
Layer GRU(std::int64_t units, bool return_sequences) {
  return train::with("gru", units, return_sequences);
}

}  // namespace plimsoll
