// An optimiser's rule as the CPU's kernels run it, over all elements of a
// parameter or over some of its rows.
#pragma once

#include <cmath>
#include <string_view>

#include "ops/kernel.h"
#include "ops/update/update.h"
#include "ops/update/update_loops.h"

namespace plimsoll::ops {

enum class UpdateRule { sgd, momentum, adam, adamw };

struct UpdateSettings {
  UpdateRule rule = UpdateRule::sgd;
  double momentum = 0;
  double beta_1 = 0;
  double beta_2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  int gate = -1;  // the input that is it; see update_gate()

  int states() const {
    return rule == UpdateRule::sgd ? 0 : rule == UpdateRule::momentum ? 1 : 2;
  }
};

// By the name of the rule: that of its dense update, which has this many
// inputs.
inline UpdateSettings update_settings(std::string_view rule,
                                      const graph::Attrs& attrs,
                                      std::size_t inputs) {
  UpdateSettings settings;
  settings.rule = rule == "sgd"            ? UpdateRule::sgd
                  : rule == "sgd_momentum" ? UpdateRule::momentum
                  : rule == "adam"         ? UpdateRule::adam
                                           : UpdateRule::adamw;
  settings.momentum = attrs.get<double>("momentum");
  settings.beta_1 = attrs.get<double>("beta_1");
  settings.beta_2 = attrs.get<double>("beta_2");
  settings.epsilon = attrs.get<double>("epsilon");
  settings.weight_decay = attrs.get<double>("weight_decay");
  settings.gate = update_gate(settings.states(), inputs);
  return settings;
}

template <class T>
const UpdateTable<T>& update_table() {
  if constexpr (sizeof(T) == 8) {
    return pick_update_tables().f64;
  } else {
    return pick_update_tables().f32;
  }
}

template <class T>
typename UpdateTable<T>::Loop update_loop(UpdateRule rule) {
  const UpdateTable<T>& loops = update_table<T>();
  return rule == UpdateRule::sgd        ? loops.sgd
         : rule == UpdateRule::momentum ? loops.sgd_momentum
         : rule == UpdateRule::adam     ? loops.adam
                                        : loops.adamw;
}

// From a launch on parameter, gradient, states, rate, perhaps step and gate.
template <class T>
UpdateArgs<T> update_arguments(const UpdateSettings& settings,
                               const LaunchArgs& args) {
  const auto input = [&](int i) {
    return static_cast<const T*>(args.inputs[i]);
  };
  const auto output = [&](int i) { return static_cast<T*>(args.outputs[i]); };
  UpdateArgs<T> update;
  update.parameter = input(0);
  update.gradient = input(1);
  update.new_parameter = output(0);
  update.momentum = static_cast<T>(settings.momentum);
  if (settings.gate >= 0) update.gain = *input(settings.gate);
  if (settings.states() > 0) {
    update.first = input(2);
    update.new_first = output(1);
  }
  if (settings.states() < 2) {
    update.rate = *input(2 + settings.states());
    return update;
  }
  update.second = input(3);
  update.new_second = output(2);
  const auto rate = static_cast<double>(*input(4));
  const auto t =
      static_cast<double>(*static_cast<const std::int64_t*>(args.inputs[5]));
  update.rate =
      static_cast<T>(rate * std::sqrt(1 - std::pow(settings.beta_2, t)) /
                     (1 - std::pow(settings.beta_1, t)));
  update.keep = static_cast<T>(1 - rate * settings.weight_decay);
  update.gain_1 = static_cast<T>(1 - settings.beta_1);
  update.gain_2 = static_cast<T>(1 - settings.beta_2);
  update.epsilon = static_cast<T>(settings.epsilon);
  return update;
}

}  // namespace plimsoll::ops
