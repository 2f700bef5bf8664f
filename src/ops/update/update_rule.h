// An optimiser's rule as the CPU's kernels run it, over all elements of a
// parameter or over some of its rows.
#pragma once

#include <cmath>
#include <string_view>

#include "ops/kernel.h"
#include "ops/update/update_form.h"
#include "ops/update/update_loops.h"

namespace plimsoll::ops {

struct UpdateSettings {
  UpdateForm form;
  double momentum = 0;
  double beta_1 = 0;
  double beta_2 = 0;
  double rho = 0;
  double epsilon = 0;
  double weight_decay = 0;
  int gate = -1;  // the input that is it
};

// By the name of an op; `inputs`: how many of them come before any indices.
inline UpdateSettings update_settings(std::string_view op,
                                      const graph::Attrs& attrs,
                                      std::size_t inputs) {
  UpdateSettings settings;
  if (const UpdateForm* form = find_update_form(op)) settings.form = *form;
  settings.momentum = attrs.get<double>("momentum");
  settings.beta_1 = attrs.get<double>("beta_1");
  settings.beta_2 = attrs.get<double>("beta_2");
  settings.rho = attrs.get<double>("rho");
  settings.epsilon = attrs.get<double>("epsilon");
  settings.weight_decay = attrs.get<double>("weight_decay");
  settings.gate = settings.form.gate(inputs);
  return settings;
}

template <class T>
UpdateLoop<T> update_loop(UpdateRule rule) {
  const auto index = static_cast<std::size_t>(rule);
  if constexpr (sizeof(T) == 8) {
    return pick_update_tables().f64[index];
  } else {
    return pick_update_tables().f32[index];
  }
}

// From a launch on parameter, gradient, states, rate, perhaps step and gate.
template <class T>
UpdateArgs<T> update_arguments(const UpdateSettings& settings,
                               const LaunchArgs& args) {
  const UpdateForm& form = settings.form;
  const auto input = [&](int i) {
    return static_cast<const T*>(args.inputs[i]);
  };
  const auto output = [&](int i) { return static_cast<T*>(args.outputs[i]); };
  UpdateArgs<T> update;
  update.parameter = input(0);
  update.gradient = input(1);
  update.new_parameter = output(0);
  for (int k = 0; k < form.states; ++k) {
    const auto at = static_cast<std::size_t>(k);
    update.states[at] = input(k + 2);
    update.new_states[at] = output(k + 1);
  }
  if (settings.gate >= 0) update.gain = *input(settings.gate);
  update.rate = *input(form.rate());
  update.momentum = static_cast<T>(settings.momentum);
  update.epsilon = static_cast<T>(settings.epsilon);
  update.gain_2 = static_cast<T>(1 - settings.rho);
  if (!form.step) return update;
  const auto rate = static_cast<double>(update.rate);
  const auto t = static_cast<double>(
      *static_cast<const std::int64_t*>(args.inputs[form.rate() + 1]));
  const double root = std::sqrt(1 - std::pow(settings.beta_2, t));
  update.rate =
      static_cast<T>(rate * root / (1 - std::pow(settings.beta_1, t)));
  update.keep = static_cast<T>(1 - rate * settings.weight_decay);
  if (form.rule == UpdateRule::lamb) {
    update.keep = static_cast<T>(rate * settings.weight_decay);
    update.epsilon = static_cast<T>(settings.epsilon * root);
  }
  update.gain_1 = static_cast<T>(1 - settings.beta_1);
  update.gain_2 = static_cast<T>(1 - settings.beta_2);
  return update;
}

}  // namespace plimsoll::ops
