// Losses and optimisers by the names of Keras: plain values.
#pragma once

#include <variant>

namespace plimsoll {

class Tensor;

struct Loss {
  const char* name = "";

  // The mean over all examples, at once. Crossentropies take probabilities, as
  // Keras's do; for logits see tensor_math.h.
  Tensor operator()(const Tensor& labels, const Tensor& predictions) const;
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
  bool nesterov = false;
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
struct RMSprop {
  double learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
};
struct Adagrad {
  double learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
};
using Optimizer = std::variant<Adam, AdamW, SGD, RMSprop, Adagrad>;

}  // namespace plimsoll
