#include "train/optimizer_keys.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll::train {
namespace {

using Spec = OptimizerSpec;

constexpr OptimizerNumber kLearningRateKey = {"learning_rate",
                                              &Spec::learning_rate, kAboveZero};
constexpr OptimizerNumber kMomentum = {"momentum", &Spec::momentum, kFraction};
constexpr OptimizerNumber kBeta1 = {"beta_1", &Spec::beta_1, kFraction};
constexpr OptimizerNumber kBeta2 = {"beta_2", &Spec::beta_2, kFraction};
constexpr OptimizerNumber kEpsilon = {"epsilon", &Spec::epsilon, kAboveZero};
constexpr OptimizerNumber kWeightDecay = {"weight_decay", &Spec::weight_decay};
constexpr OptimizerNumber kRho = {"rho", &Spec::rho, kFraction};
constexpr OptimizerNumber kAccumulator = {"initial_accumulator_value",
                                          &Spec::initial_accumulator_value};

OptimizerDef define(std::string_view type, std::vector<OptimizerNumber> numbers,
                    std::vector<OptimizerSwitch> switches = {}) {
  OptimizerDef def{type, {}, std::move(numbers), std::move(switches)};
  def.defaults.type = type;
  return def;
}

std::vector<OptimizerDef> make_defs() {
  std::vector<OptimizerDef> defs;
  defs.push_back(define("sgd", {kLearningRateKey, kMomentum},
                        {{"nesterov", &Spec::nesterov}}));
  defs.back().defaults.learning_rate = 0.01;
  defs.push_back(define("adam", {kLearningRateKey, kBeta1, kBeta2, kEpsilon}));
  defs.push_back(define(
      "adamw", {kLearningRateKey, kBeta1, kBeta2, kEpsilon, kWeightDecay}));
  defs.push_back(define("rmsprop",
                        {kLearningRateKey, kRho, kMomentum, kEpsilon},
                        {{"centered", &Spec::centered}}));
  defs.push_back(define("adagrad", {kLearningRateKey, kAccumulator, kEpsilon}));
  return defs;
}

}  // namespace

std::span<const OptimizerDef> optimizer_defs() {
  static const std::vector<OptimizerDef> defs = make_defs();
  return defs;
}

const OptimizerDef* find_optimizer(std::string_view type) {
  const auto defs = optimizer_defs();
  const auto found =
      std::find_if(defs.begin(), defs.end(),
                   [&](const OptimizerDef& def) { return def.type == type; });
  return found == defs.end() ? nullptr : &*found;
}

Status check_optimizer(const OptimizerSpec& optimizer) {
  const OptimizerDef* const def = find_optimizer(optimizer.type);
  if (def == nullptr) {
    std::string known;
    for (const OptimizerDef& one : optimizer_defs()) {
      known.append(known.empty() ? "" : ", ").append(one.type);
    }
    return Error{ErrorCode::bad_input,
                 fmt::format("unknown optimizer `{}`: known are {}",
                             optimizer.type, known)};
  }
  for (const OptimizerNumber& number : def->numbers) {
    const double value = optimizer.*number.field;
    if (number.range.holds(value)) continue;
    return Error{ErrorCode::bad_input,
                 fmt::format("optimizer {}: {} must be {}, not {}", def->type,
                             number.key, wording(number.range), value)};
  }
  return {};
}

}  // namespace plimsoll::train
