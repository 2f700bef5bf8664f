// Losses and optimisers by the names of Keras: plain values.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

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

// Schedules of the learning rate by the number of updates done.
struct ExponentialDecay {
  double initial_learning_rate = 0.001;
  double decay_steps = 1;
  double decay_rate = 1;
  bool staircase = false;
};
struct InverseTimeDecay {
  double initial_learning_rate = 0.001;
  double decay_steps = 1;
  double decay_rate = 1;
  bool staircase = false;
};
struct PolynomialDecay {
  double initial_learning_rate = 0.001;
  double decay_steps = 1;
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;
};
struct CosineDecay {
  double initial_learning_rate = 0.001;
  double decay_steps = 1;
  double alpha = 0;
  double warmup_target = 0;  // 0: no warm-up
  double warmup_steps = 0;
};
struct PiecewiseConstantDecay {
  std::vector<double> boundaries;
  std::vector<double> values;  // one more than boundaries
};

// A number, or a schedule.
using Schedule =
    std::variant<ExponentialDecay, InverseTimeDecay, PolynomialDecay,
                 CosineDecay, PiecewiseConstantDecay>;
struct LearningRate {
  LearningRate(double value) : rate(value) {}
  LearningRate(ExponentialDecay kind) : schedule(kind) {}
  LearningRate(InverseTimeDecay kind) : schedule(kind) {}
  LearningRate(PolynomialDecay kind) : schedule(kind) {}
  LearningRate(CosineDecay kind) : schedule(kind) {}
  LearningRate(PiecewiseConstantDecay kind) : schedule(std::move(kind)) {}

  double rate = 0;  // where there is no schedule
  std::optional<Schedule> schedule;
};

// Of every optimiser one of three may be set: `clipnorm` is the largest norm of
// each gradient, `global_clipnorm` of all together, `clipvalue` the largest
// absolute value.
struct SGD {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
struct Adam {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
struct AdamW {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
struct RMSprop {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
struct Adagrad {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
struct LAMB {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-6;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
struct Adafactor {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1;
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};
using Optimizer =
    std::variant<Adam, AdamW, SGD, RMSprop, Adagrad, LAMB, Adafactor>;

}  // namespace plimsoll
