#include "train/optimizer_spec.h"

namespace plimsoll::train {
namespace {

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

}  // namespace

OptimizerSpec spec_of(const Optimizer& optimizer) {
  return std::visit(
      [](const auto& given) {
        OptimizerSpec spec = fields(given);
        spec.learning_rate = given.learning_rate;
        return spec;
      },
      optimizer);
}

}  // namespace plimsoll::train
