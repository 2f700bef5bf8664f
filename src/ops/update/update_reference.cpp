#include "ops/update/update_reference.h"

#include <cmath>

#include "ops/update/step_function_reference.h"
#include "ops/update/update.h"

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<RefTensor>;

double scalar(const RefTensor& tensor) { return tensor.values[0]; }

// Closed, all that comes out is what went in.
template <UpdateRule kRule>
void update(const Tensors& in, const graph::Attrs& attrs, Tensors& out) {
  constexpr UpdateForm kForm = update_form(kRule);
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].values = in[k == 0 ? 0 : k + 1].values;
  }
  const int at = kForm.gate(in.size());
  const double gate = at < 0 ? 1 : scalar(in[static_cast<std::size_t>(at)]);
  if (gate == 0) {
    if (kRule == UpdateRule::lamb) {
      out[0].values.assign(out[0].values.size(), 0);
    }
    return;
  }
  const UpdateNumbers numbers = update_numbers(kForm, in, attrs);
  std::vector<double> states(out.size() - 1);
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    for (std::size_t k = 0; k < states.size(); ++k) {
      states[k] = out[k + 1].values[i];
    }
    update_element(kRule, numbers, gate * in[1].values[i], out[0].values[i],
                   states);
    for (std::size_t k = 0; k < states.size(); ++k) {
      out[k + 1].values[i] = states[k];
    }
  }
}

void increment(const Tensors& in, const graph::Attrs&, Tensors& out) {
  out[0].values[0] = scalar(in[0]) + 1;
}

void all_finite(const Tensors& in, const graph::Attrs&, Tensors& out) {
  out[0].values[0] = 1;
  for (const double value : in[0].values) {
    if (!std::isfinite(value)) out[0].values[0] = 0;
  }
}

void scale_step(const Tensors& in, const graph::Attrs& attrs, Tensors& out) {
  const double scale = scalar(in[0]);
  const double good = scalar(in[1]);
  const bool finite = scalar(in[3]) != 0;
  const bool grown =
      finite &&
      good + 1 >= static_cast<double>(attrs.get<std::int64_t>("growth_steps"));
  out[0].values[0] =
      std::fmin(kMostScale, std::fmax(kLeastScale, !finite ? scale / 2
                                                   : grown ? 2 * scale
                                                           : scale));
  out[1].values[0] = finite && !grown ? good + 1 : 0;
  out[2].values[0] = scalar(in[2]) + (finite ? 1 : 0);
  out[3].values[0] = finite ? 1 / scale : 0;
}

void accumulate(const Tensors& in, const graph::Attrs&, Tensors& out) {
  out[0].values[0] = scalar(in[0]) + scalar(in[1]);
}

constexpr Reference kReferences[] = {
    {"sgd", update<UpdateRule::sgd>},
    {"sgd_momentum", update<UpdateRule::sgd_momentum>},
    {"sgd_nesterov", update<UpdateRule::sgd_nesterov>},
    {"adam", update<UpdateRule::adam>},
    {"adamw", update<UpdateRule::adamw>},
    {"rmsprop", update<UpdateRule::rmsprop>},
    {"rmsprop_momentum", update<UpdateRule::rmsprop_momentum>},
    {"rmsprop_centered", update<UpdateRule::rmsprop_centered>},
    {"rmsprop_centered_momentum",
     update<UpdateRule::rmsprop_centered_momentum>},
    {"adagrad", update<UpdateRule::adagrad>},
    {"lamb", update<UpdateRule::lamb>},
    {"increment", increment},
    {"accumulate", accumulate},
    {"all_finite", all_finite},
    {"scale_step", scale_step},
    {"step_function", step_function_reference}};

double attr(const UpdateNumbers& numbers, const char* name) {
  return numbers.attrs->get<double>(name);
}

void adam(const UpdateNumbers& n, double g, double& p, std::span<double> s) {
  const double beta_1 = attr(n, "beta_1");
  const double beta_2 = attr(n, "beta_2");
  s[0] = beta_1 * s[0] + (1 - beta_1) * g;
  s[1] = beta_2 * s[1] + (1 - beta_2) * g * g;
  const double corrected = n.rate * std::sqrt(1 - std::pow(beta_2, n.step)) /
                           (1 - std::pow(beta_1, n.step));
  p -= n.rate * attr(n, "weight_decay") * p;  // Adam has none
  p -= corrected * s[0] / (std::sqrt(s[1]) + attr(n, "epsilon"));
}

// Leaves the change in `p`.
void lamb(const UpdateNumbers& n, double g, double& p, std::span<double> s) {
  const double beta_1 = attr(n, "beta_1");
  const double beta_2 = attr(n, "beta_2");
  s[0] = beta_1 * s[0] + (1 - beta_1) * g;
  s[1] = beta_2 * s[1] + (1 - beta_2) * g * g;
  const double m = s[0] / (1 - std::pow(beta_1, n.step));
  const double v = s[1] / (1 - std::pow(beta_2, n.step));
  p = n.rate *
      (m / (std::sqrt(v) + attr(n, "epsilon")) + attr(n, "weight_decay") * p);
}

void rmsprop(const UpdateNumbers& n, double g, double& p, std::span<double> s,
             double* momentum, double* average) {
  const double rho = attr(n, "rho");
  s[0] = rho * s[0] + (1 - rho) * g * g;
  double spread = s[0];
  if (average) {
    *average = rho * *average + (1 - rho) * g;
    spread = std::fmax(0, s[0] - *average * *average);
  }
  double change = n.rate * g / std::sqrt(spread + attr(n, "epsilon"));
  if (momentum) {
    *momentum = attr(n, "momentum") * *momentum + change;
    change = *momentum;
  }
  p -= change;
}

}  // namespace

UpdateNumbers update_numbers(const UpdateForm& form, const Tensors& inputs,
                             const graph::Attrs& attrs) {
  const auto rate = static_cast<std::size_t>(form.rate());
  return {scalar(inputs[rate]), form.step ? scalar(inputs[rate + 1]) : 1,
          &attrs};
}

void update_element(UpdateRule rule, const UpdateNumbers& n, double g,
                    double& p, std::span<double> s) {
  switch (rule) {
    case UpdateRule::sgd:
      p -= n.rate * g;
      return;
    case UpdateRule::sgd_momentum:
      s[0] = attr(n, "momentum") * s[0] - n.rate * g;
      p += s[0];
      return;
    case UpdateRule::sgd_nesterov:
      s[0] = attr(n, "momentum") * s[0] - n.rate * g;
      p += attr(n, "momentum") * s[0] - n.rate * g;
      return;
    case UpdateRule::adam:
    case UpdateRule::adamw:
      return adam(n, g, p, s);
    case UpdateRule::rmsprop:
      return rmsprop(n, g, p, s, nullptr, nullptr);
    case UpdateRule::rmsprop_momentum:
      return rmsprop(n, g, p, s, &s[1], nullptr);
    case UpdateRule::rmsprop_centered:
      return rmsprop(n, g, p, s, nullptr, &s[1]);
    case UpdateRule::rmsprop_centered_momentum:
      return rmsprop(n, g, p, s, &s[1], &s[2]);
    case UpdateRule::lamb:
      return lamb(n, g, p, s);
    case UpdateRule::adagrad:
      s[0] += g * g;
      p -= n.rate * g / std::sqrt(s[0] + attr(n, "epsilon"));
      return;
  }
}

std::span<const Reference> update_references() { return kReferences; }

}  // namespace plimsoll::ops
