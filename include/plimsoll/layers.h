// Layers by the names and with the defaults of Keras: plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

struct ActivationFunction {
  const char* name = "linear";
};
inline constexpr ActivationFunction linear{"linear"};
inline constexpr ActivationFunction relu{"relu"};
inline constexpr ActivationFunction leaky_relu{"leaky_relu"};
inline constexpr ActivationFunction sigmoid{"sigmoid"};
inline constexpr ActivationFunction tanh{"tanh"};
inline constexpr ActivationFunction gelu{"gelu"};            // exact
inline constexpr ActivationFunction gelu_tanh{"gelu_tanh"};  // approximate
inline constexpr ActivationFunction silu{"silu"};
inline constexpr ActivationFunction swish{"swish"};  // silu's other name
inline constexpr ActivationFunction elu{"elu"};      // alpha is 1
inline constexpr ActivationFunction softplus{"softplus"};
inline constexpr ActivationFunction softmax{"softmax"};

class LayerOutput;

// Fields that a type does not have stay as they are; which there are and what
// they start with stands beside each type in src/train/layers.
struct Layer {
  std::string type;
  std::string name;                 // default: type_1, type_2, ...
  std::vector<std::string> inputs;  // layers above; none: the one before it
  std::int64_t units = 0;
  std::string activation;
  bool use_bias = true;
  std::string kernel_initializer = "glorot_uniform";
  std::string bias_initializer = "zeros";
  std::string shared_with;      // dense: the embedding whose table it uses
  std::int64_t input_dim = 0;   // embedding
  std::int64_t output_dim = 0;  // embedding
  std::string embeddings_initializer = "random_uniform";
  double rate = 0;
  double negative_slope = 0.2;
  double epsilon = 1e-3;     // normalization
  bool scale = true;         // likewise: by gamma
  bool center = true;        // and by beta; rms has none
  std::int64_t groups = 32;  // of channels
  double momentum = 0.99;    // of a batch's moving statistics
  std::string device;     // where it is placed; empty: on the session's device
  std::string precision;  // f32, bf16, ...; empty: the model's

  // The layer in a model with branches. Each call is a layer of its own, with
  // weights of its own.
  LayerOutput operator()(const LayerOutput& x) const;
  LayerOutput operator()(const std::vector<LayerOutput>& read) const;
};

// What a layer gives, or the model's input: the edges of a Model.
class LayerOutput {
 public:
  struct Node;
  explicit LayerOutput(std::shared_ptr<const Node> node)
      : node_(std::move(node)) {}
  const std::shared_ptr<const Node>& node() const { return node_; }

 private:
  std::shared_ptr<const Node> node_;
};

// The shape of one example.
LayerOutput Input(std::vector<std::int64_t> shape);

Layer Dense(std::int64_t units, ActivationFunction activation = linear);
Layer Activation(ActivationFunction activation);
Layer Dropout(double rate);
Layer Flatten();
// Rows of a table of input_dim by class index. An index outside of the table
// gives NaN.
Layer Embedding(std::int64_t input_dim, std::int64_t output_dim);
Layer LayerNormalization(double epsilon = 1e-3);
Layer RMSNormalization(double epsilon = 1e-6);
Layer GroupNormalization(std::int64_t groups = 32, double epsilon = 1e-3);
Layer BatchNormalization(double momentum = 0.99, double epsilon = 1e-3);

}  // namespace plimsoll
