#include "train/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/normalization/normalization.h"
#include "ops/random/random.h"
#include "ops/softmax/softmax.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::ValueId;

struct NamedFunction {
  std::string_view name;
  ValueId (*apply)(Builder& builder, ValueId value);
};
// By the names and with the defaults of Keras.
constexpr NamedFunction kFunctions[] = {
    {"relu", ops::relu},
    {"sigmoid", ops::sigmoid},
    {"tanh", ops::tanh},
    {"gelu", ops::gelu},
    {"gelu_tanh", ops::gelu_tanh},
    {"silu", ops::silu},
    {"swish", ops::silu},
    {"elu", [](Builder& b, ValueId value) { return ops::elu(b, value, 1); }},
    {"softplus", ops::softplus},
    {"softmax", ops::softmax},
};

const NamedFunction* find_function(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [&](const NamedFunction& one) { return one.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

class NetworkBuilder {
 public:
  NetworkBuilder(Builder& builder, const NetworkOptions& options, ValueId input)
      : builder_(builder), options_(options), value_(input) {
    network_.logits = input;
  }

  Status add(const LayerSpec& layer, const std::string& name, int position) {
    builder_.set_scope(name);
    layer_ = &layer;
    name_ = name;
    PLIMSOLL_ASSIGN(const graph::Place place, place_of(layer.device));
    builder_.set_place(place);
    if (layer.type == "dense") return add_dense(layer);
    if (layer.type == "activation") return activate(layer.activation);
    if (layer.type == "dropout") {
      if (options_.training && layer.rate > 0) {
        value_ = ops::dropout(builder_, value_, options_.random_step,
                              layer.rate, options_.seed, position);
        forget_logits();
      }
      return {};
    }
    if (layer.type == "flatten") return add_flatten();
    if (layer.type == "embedding") return add_embedding(layer);
    if (layer.type.ends_with("_normalization")) return add_normalization();
    return wrong(fmt::format(
        "unknown layer type `{}`: known are dense, "
        "activation, dropout, flatten, embedding, layer_normalization, "
        "rms_normalization, group_normalization, "
        "batch_normalization",
        layer.type));
  }

  Network finish() {
    builder_.set_place(graph::Place::home);
    network_.output = value_;
    return std::move(network_);
  }

 private:
  Error wrong(const std::string& what) const {
    const std::string where =
        layer_->where.empty() ? name_ : layer_->where + " (" + name_ + ")";
    return {ErrorCode::bad_input, where + ": " + what};
  }

  Result<graph::Place> place_of(const std::string& device) const {
    if (device.empty() || device == options_.home) return graph::Place::home;
    if (device == "cpu") return graph::Place::host;
    return wrong(
        options_.home == "cpu"
            ? fmt::format(
                  "is placed on {0}, but the job runs on the CPU alone: "
                  "give it the device, as in --device {0}",
                  device)
            : fmt::format(
                  "is placed on {}, but the job runs on {}: one process "
                  "drives one device, and the CPU beside it",
                  device, options_.home));
  }

  const Shape& shape() const { return builder_.type(value_).shape; }

  void forget_logits() {
    network_.logits = value_;
    network_.last_activation = "linear";
  }

  ValueId add_parameter(const std::string& suffix, Shape shape,
                        const std::string& initializer, std::int64_t fan_in,
                        std::int64_t fan_out) {
    const std::string name = name_ + "/" + suffix;
    const DType given = builder_.type(value_).dtype;
    const ValueId value = builder_.state(
        name, graph::Role::parameter,
        {is_floating(given) ? given : options_.precision, std::move(shape)});
    network_.parameters.push_back({name, value, initializer, fan_in, fan_out});
    return value;
  }

  Status add_dense(const LayerSpec& layer) {
    if (shape().rank() < 2) {
      return wrong(
          fmt::format("dense needs an input of shape [B, ..., n], "
                      "not {}",
                      shape().to_string()));
    }
    if (layer.units < 1) {
      return wrong(
          fmt::format("dense needs units of at least 1, not {}", layer.units));
    }
    const std::int64_t width = shape().extent(-1);
    const ValueId kernel =
        add_parameter("kernel", {width, layer.units}, layer.kernel_initializer,
                      width, layer.units);
    value_ = ops::matmul(builder_, value_, kernel);
    if (layer.use_bias) {
      const ValueId bias =
          add_parameter("bias", {layer.units}, layer.bias_initializer,
                        layer.units, layer.units);
      value_ = ops::add(builder_, value_, bias);
    }
    return activate(layer.activation);
  }

  Status add_embedding(const LayerSpec& layer) {
    if (is_floating(builder_.type(value_).dtype)) {
      return wrong(
          "embedding takes class indices: it must be the model's first layer");
    }
    if (layer.input_dim < 1 || layer.output_dim < 1) {
      return wrong(
          fmt::format("embedding needs input_dim and output_dim of at least 1, "
                      "not {} and {}",
                      layer.input_dim, layer.output_dim));
    }
    const ValueId table = add_parameter(
        "embeddings", {layer.input_dim, layer.output_dim},
        layer.embeddings_initializer, layer.input_dim, layer.output_dim);
    value_ = ops::embedding(builder_, table, value_);
    forget_logits();
    return {};
  }

  Status add_flatten() {
    std::int64_t width = 1;
    for (int i = 1; i < shape().rank(); ++i) width *= shape().extent(i);
    value_ = ops::reshape(builder_, value_, Shape{shape()[0], width});
    forget_logits();
    return {};
  }

  // One value a channel that training moves, but no gradient.
  ValueId add_statistic(const std::string& suffix, std::int64_t channels,
                        const std::string& initializer) {
    const std::string name = name_ + "/" + suffix;
    const ValueId value =
        builder_.state(name, graph::Role::statistic,
                       {builder_.type(value_).dtype, Shape{channels}});
    network_.statistics.push_back({name, value, initializer, 1, 1});
    return value;
  }

  Status add_normalization() {
    const LayerSpec& layer = *layer_;
    const std::int64_t channels = shape().extent(-1);
    const auto parameter = [&](bool wanted, const char* suffix,
                               const char* initializer) {
      return wanted ? add_parameter(suffix, {channels}, initializer, channels,
                                    channels)
                    : ValueId();
    };
    if (layer.type == "rms_normalization") {
      const ValueId scale = parameter(true, "scale", "ones");
      value_ = ops::rms_norm(builder_, value_, scale, layer.epsilon);
      forget_logits();
      return {};
    }
    const ValueId gamma = parameter(layer.scale, "gamma", "ones");
    const ValueId beta = parameter(layer.center, "beta", "zeros");
    if (layer.type == "layer_normalization") {
      value_ = ops::layer_norm(builder_, value_, gamma, beta, layer.epsilon);
    } else if (layer.type == "group_normalization") {
      value_ = ops::group_norm(builder_, value_, gamma, beta, layer.groups,
                               layer.epsilon);
    } else if (layer.type == "batch_normalization") {
      add_batch_normalization(gamma, beta, channels);
    } else {
      return wrong(fmt::format(
          "unknown layer type `{}`: known are layer_normalization, "
          "rms_normalization, group_normalization, batch_normalization",
          layer.type));
    }
    forget_logits();
    return {};
  }

  void add_batch_normalization(ValueId gamma, ValueId beta,
                               std::int64_t channels) {
    const ValueId mean = add_statistic("moving_mean", channels, "zeros");
    const ValueId variance = add_statistic("moving_variance", channels, "ones");
    if (!options_.training) {
      value_ = ops::batch_norm_inference(builder_, value_, gamma, beta, mean,
                                         variance, layer_->epsilon);
      return;
    }
    const ops::BatchNorm made =
        ops::batch_norm(builder_, value_, gamma, beta, layer_->epsilon);
    value_ = made.y;
    builder_.assign(
        mean, ops::moving_average(builder_, mean, made.mean, layer_->momentum));
    builder_.assign(variance,
                    ops::moving_average(builder_, variance, made.variance,
                                        layer_->momentum));
  }

  Status activate(const std::string& name) {
    forget_logits();
    if (name.empty() || name == "linear") return {};
    if (name == "leaky_relu") {
      value_ = ops::leaky_relu(builder_, value_, layer_->negative_slope);
    } else if (const NamedFunction* function = find_function(name)) {
      value_ = function->apply(builder_, value_);
    } else {
      std::string known = "linear, leaky_relu";
      for (const NamedFunction& one : kFunctions) {
        known.append(", ").append(one.name);
      }
      return wrong(
          fmt::format("unknown activation `{}`: known are {}", name, known));
    }
    network_.last_activation = name;
    if (name != "sigmoid" && name != "softmax") network_.logits = value_;
    return {};
  }

  Builder& builder_;
  const NetworkOptions& options_;
  ValueId value_;
  Network network_;
  const LayerSpec* layer_ = nullptr;
  std::string name_;
};

}  // namespace

std::vector<std::string> layer_names(const ModelSpec& model) {
  std::map<std::string, int> counts;
  std::vector<std::string> names;
  for (const LayerSpec& layer : model.layers) {
    const int count = ++counts[layer.type];
    names.push_back(layer.name.empty() ? fmt::format("{}_{}", layer.type, count)
                                       : layer.name);
  }
  return names;
}

bool uses_dropout(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (layer.type == "dropout" && layer.rate > 0) return true;
  }
  return false;
}

bool takes_indices(const ModelSpec& model) {
  return !model.layers.empty() && model.layers.front().type == "embedding";
}

bool uses_batch_statistics(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    if (layer.type == "batch_normalization") return true;
  }
  return false;
}

Result<Network> build_network(Builder& builder, const ModelSpec& model,
                              ValueId input, const NetworkOptions& options) {
  if (model.layers.empty()) {
    return Error{ErrorCode::bad_input,
                 "model.layers: a model needs at least "
                 "one layer"};
  }
  NetworkBuilder network(builder, options, input);
  const auto names = layer_names(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(
        network.add(model.layers[i], names[i], static_cast<int>(i)));
    if (!builder.ok()) {
      Error error = builder.status().error();
      if (!model.layers[i].where.empty()) {
        error.message = model.layers[i].where + ": " + error.message;
      }
      return error;
    }
  }
  return network.finish();
}

}  // namespace plimsoll::train
