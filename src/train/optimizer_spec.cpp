#include "train/optimizer_spec.h"

#include "train/schedule.h"

namespace plimsoll::train {
namespace {

ScheduleSpec schedule_of(const ExponentialDecay& given) {
  ScheduleSpec spec;
  spec.type = "exponential_decay";
  spec.initial_learning_rate = given.initial_learning_rate;
  spec.decay_steps = given.decay_steps;
  spec.decay_rate = given.decay_rate;
  spec.staircase = given.staircase;
  return spec;
}

ScheduleSpec schedule_of(const InverseTimeDecay& given) {
  ScheduleSpec spec;
  spec.type = "inverse_time_decay";
  spec.initial_learning_rate = given.initial_learning_rate;
  spec.decay_steps = given.decay_steps;
  spec.decay_rate = given.decay_rate;
  spec.staircase = given.staircase;
  return spec;
}

ScheduleSpec schedule_of(const PolynomialDecay& given) {
  ScheduleSpec spec;
  spec.type = "polynomial_decay";
  spec.initial_learning_rate = given.initial_learning_rate;
  spec.decay_steps = given.decay_steps;
  spec.end_learning_rate = given.end_learning_rate;
  spec.power = given.power;
  spec.cycle = given.cycle;
  return spec;
}

ScheduleSpec schedule_of(const CosineDecay& given) {
  ScheduleSpec spec;
  spec.type = "cosine_decay";
  spec.initial_learning_rate = given.initial_learning_rate;
  spec.decay_steps = given.decay_steps;
  spec.alpha = given.alpha;
  spec.warmup_target = given.warmup_target;
  spec.warmup_steps = given.warmup_steps;
  return spec;
}

ScheduleSpec schedule_of(const PiecewiseConstantDecay& given) {
  ScheduleSpec spec;
  spec.type = "piecewise_constant";
  spec.boundaries = given.boundaries;
  spec.values = given.values;
  return spec;
}

OptimizerSpec fields(const SGD& given) {
  OptimizerSpec spec;
  spec.type = "sgd";
  spec.momentum = given.momentum;
  spec.nesterov = given.nesterov;
  return spec;
}

OptimizerSpec fields(const Adam& given) {
  OptimizerSpec spec;
  spec.type = "adam";
  spec.beta_1 = given.beta_1;
  spec.beta_2 = given.beta_2;
  spec.epsilon = given.epsilon;
  return spec;
}

OptimizerSpec fields(const AdamW& given) {
  OptimizerSpec spec;
  spec.type = "adamw";
  spec.weight_decay = given.weight_decay;
  spec.beta_1 = given.beta_1;
  spec.beta_2 = given.beta_2;
  spec.epsilon = given.epsilon;
  return spec;
}

OptimizerSpec fields(const RMSprop& given) {
  OptimizerSpec spec;
  spec.type = "rmsprop";
  spec.rho = given.rho;
  spec.momentum = given.momentum;
  spec.epsilon = given.epsilon;
  spec.centered = given.centered;
  return spec;
}

OptimizerSpec fields(const Adagrad& given) {
  OptimizerSpec spec;
  spec.type = "adagrad";
  spec.initial_accumulator_value = given.initial_accumulator_value;
  spec.epsilon = given.epsilon;
  return spec;
}

OptimizerSpec fields(const LAMB& given) {
  OptimizerSpec spec;
  spec.type = "lamb";
  spec.weight_decay = given.weight_decay;
  spec.beta_1 = given.beta_1;
  spec.beta_2 = given.beta_2;
  spec.epsilon = given.epsilon;
  return spec;
}

OptimizerSpec fields(const Adafactor& given) {
  OptimizerSpec spec;
  spec.type = "adafactor";
  spec.beta_2_decay = given.beta_2_decay;
  spec.epsilon_1 = given.epsilon_1;
  spec.epsilon_2 = given.epsilon_2;
  spec.clip_threshold = given.clip_threshold;
  return spec;
}

}  // namespace

OptimizerSpec spec_of(const Optimizer& optimizer) {
  return std::visit(
      [](const auto& given) {
        OptimizerSpec spec = fields(given);
        spec.learning_rate = given.learning_rate.rate;
        if (given.learning_rate.schedule) {
          spec.schedule =
              std::visit([](const auto& kind) { return schedule_of(kind); },
                         *given.learning_rate.schedule);
          spec.learning_rate = nominal_rate(spec.schedule);
        }
        spec.clipnorm = given.clipnorm;
        spec.clipvalue = given.clipvalue;
        spec.global_clipnorm = given.global_clipnorm;
        return spec;
      },
      optimizer);
}

}  // namespace plimsoll::train
