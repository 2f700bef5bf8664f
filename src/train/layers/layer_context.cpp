#include "train/layers/layer_context.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "train/layers/activation.h"
#include "train/precision.h"

namespace plimsoll::train {

using graph::ValueId;

Error LayerContext::wrong(const std::string& what) const {
  const std::string where =
      layer.where.empty() ? name : layer.where + " (" + name + ")";
  return {ErrorCode::bad_input, where + ": " + what};
}

DType LayerContext::dtype() const {
  return compute_dtype(layer, options.precision);
}

DType LayerContext::statistics_dtype() const { return master_dtype(dtype()); }

ValueId LayerContext::parameter(const std::string& suffix, Shape shape,
                                const std::string& initializer,
                                std::int64_t fan_in, std::int64_t fan_out) {
  return in_dtype(
      builder, master(suffix, std::move(shape), initializer, fan_in, fan_out),
      dtype());
}

ValueId LayerContext::master(const std::string& suffix, Shape shape,
                             const std::string& initializer,
                             std::int64_t fan_in, std::int64_t fan_out) {
  const std::string full_name = name + "/" + suffix;
  if (find_parameter(full_name) != nullptr) {
    builder.fail({ErrorCode::bad_input,
                  fmt::format("{}: its `{}` is another layer's too: give one "
                              "of the two another name",
                              name, full_name)});
  }
  const ValueId value =
      builder.state(full_name, graph::Role::parameter,
                    {master_dtype(options.precision), std::move(shape)});
  parameters_.push_back({full_name, value, initializer, fan_in, fan_out});
  return value;
}

ValueId LayerContext::statistic(const std::string& suffix,
                                std::int64_t channels,
                                const std::string& initializer) {
  const std::string full_name = name + "/" + suffix;
  const ValueId value = builder.state(full_name, graph::Role::statistic,
                                      {statistics_dtype(), Shape{channels}});
  statistics_.push_back({full_name, value, initializer, 1, 1});
  return value;
}

const Parameter* LayerContext::find_parameter(
    const std::string& full_name) const {
  for (const Parameter& one : parameters_) {
    if (one.name == full_name) return &one;
  }
  return nullptr;
}

ValueId LayerContext::add_bias(ValueId value, std::int64_t channels) {
  if (!layer.use_bias) return value;
  return ops::add(builder, value,
                  parameter("bias", {channels}, layer.bias_initializer,
                            channels, channels));
}

void LayerContext::start_bias_at_one(std::int64_t begin, std::int64_t end) {
  for (Parameter& one : parameters_) {
    if (one.name != name + "/bias") continue;
    one.ones_begin = begin;
    one.ones_end = end;
  }
}

LayerResult LayerContext::activate(ValueId value) const {
  LayerResult result(value);
  const std::string& function = layer.activation;
  if (function.empty() || function == "linear" || !builder.ok()) return result;
  result.value = apply_activation(builder, layer, value);
  result.activation = function;
  if (function != "sigmoid" && function != "softmax") {
    result.logits = result.value;
  }
  return result;
}

}  // namespace plimsoll::train
