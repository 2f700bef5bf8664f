#include "train/optimizer_keys.h"

#include <fmt/core.h>

#include <algorithm>

#include "train/schedule.h"

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

constexpr RealRange kBelowZero = {.least = -1, .below = 0};

// 0 stands for none, as it does in Keras.
constexpr OptimizerNumber kClipping[] = {
    {"clipnorm", &Spec::clipnorm},
    {"clipvalue", &Spec::clipvalue},
    {"global_clipnorm", &Spec::global_clipnorm}};

OptimizerDef define(std::string_view type, std::vector<OptimizerNumber> numbers,
                    std::vector<OptimizerSwitch> switches = {}) {
  OptimizerDef def{type, {}, std::move(numbers), std::move(switches)};
  def.defaults.type = type;
  def.numbers.insert(def.numbers.end(), std::begin(kClipping),
                     std::end(kClipping));
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
  defs.push_back(define(
      "lamb", {kLearningRateKey, kBeta1, kBeta2, kEpsilon, kWeightDecay}));
  defs.back().defaults.epsilon = 1e-6;
  defs.back().defaults.weight_decay = 0;
  defs.push_back(define(
      "adafactor", {kLearningRateKey,
                    {"beta_2_decay", &Spec::beta_2_decay, kBelowZero},
                    {"epsilon_1", &Spec::epsilon_1, kAboveZero},
                    {"epsilon_2", &Spec::epsilon_2, kAboveZero},
                    {"clip_threshold", &Spec::clip_threshold, kAboveZero}}));
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

std::span<const OptimizerNumber> clipping_keys() { return kClipping; }

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
    // A rate of 0 trains nothing, which a program may want.
    if (number.key == kLearningRateKey.key &&
        (value == 0 || !optimizer.schedule.type.empty())) {
      continue;
    }
    return Error{ErrorCode::bad_input,
                 fmt::format("optimizer {}: {} must be {}, not {}", def->type,
                             number.key, wording(number.range), value)};
  }
  if (!optimizer.schedule.type.empty()) {
    if (const Status made = check_schedule(optimizer.schedule); !made.ok()) {
      return Error{ErrorCode::bad_input,
                   fmt::format("optimizer {}: learning_rate: {}", def->type,
                               made.error().message)};
    }
  }
  const auto set = std::count_if(
      std::begin(kClipping), std::end(kClipping),
      [&](const OptimizerNumber& key) { return optimizer.*key.field > 0; });
  if (set > 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("optimizer {}: {}", def->type, kOneClipping)};
  }
  return {};
}

}  // namespace plimsoll::train
