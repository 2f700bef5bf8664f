// Layers, losses and optimisers by the names of Keras: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

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

struct Layer {
  std::string type;
  std::string name;
  std::int64_t units = 0;
  std::string activation;
  bool use_bias = true;
  std::string kernel_initializer = "glorot_uniform";
  std::string bias_initializer = "zeros";
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
  std::string device;  // where it is placed; empty: on the session's device
};

Layer Dense(std::int64_t units, ActivationFunction activation = linear);
Layer Activation(ActivationFunction activation);
Layer Dropout(double rate);
Layer Flatten();
// Rows of a table of input_dim by class index; the model's first layer, whose
// examples are whole numbers. An index outside of the table gives NaN.
Layer Embedding(std::int64_t input_dim, std::int64_t output_dim);
Layer LayerNormalization(double epsilon = 1e-3);
Layer RMSNormalization(double epsilon = 1e-6);
Layer GroupNormalization(std::int64_t groups = 32, double epsilon = 1e-3);
Layer BatchNormalization(double momentum = 0.99, double epsilon = 1e-3);

struct Loss {
  const char* name = "";
};
inline constexpr Loss binary_crossentropy{"binary_crossentropy"};
inline constexpr Loss mean_squared_error{"mean_squared_error"};
inline constexpr Loss mean_absolute_error{"mean_absolute_error"};
inline constexpr Loss categorical_crossentropy{"categorical_crossentropy"};
inline constexpr Loss sparse_categorical_crossentropy{
    "sparse_categorical_crossentropy"};

struct SGD {
  double learning_rate = 0.01;
  double momentum = 0;
};
struct Adam {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
struct AdamW {
  double learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
using Optimizer = std::variant<Adam, AdamW, SGD>;

}  // namespace plimsoll
