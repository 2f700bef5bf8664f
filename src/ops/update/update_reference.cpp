#include "ops/update/update_reference.h"

#include <cmath>

#include "ops/update/update.h"

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<RefTensor>;

double scalar(const RefTensor& tensor) { return tensor.values[0]; }

// The gate, where there is one; closed, all that comes out is what went in.
double gate_of(const Tensors& in, Tensors& out) {
  const int states = static_cast<int>(out.size()) - 1;
  const int at = update_gate(states, in.size());
  const double gate = at < 0 ? 1 : scalar(in[static_cast<std::size_t>(at)]);
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].values = in[k == 0 ? 0 : k + 1].values;
  }
  return gate;
}

void sgd(const Tensors& in, const graph::Attrs&, Tensors& out) {
  const double gate = gate_of(in, out);
  if (gate == 0) return;
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    out[0].values[i] = in[0].values[i] - scalar(in[2]) * gate * in[1].values[i];
  }
}

void sgd_momentum(const Tensors& in, const graph::Attrs& attrs, Tensors& out) {
  const auto momentum = attrs.get<double>("momentum");
  const double gate = gate_of(in, out);
  if (gate == 0) return;
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    const double velocity =
        momentum * in[2].values[i] - scalar(in[3]) * gate * in[1].values[i];
    out[0].values[i] = in[0].values[i] + velocity;
    out[1].values[i] = velocity;
  }
}

void adamw(const Tensors& in, const graph::Attrs& attrs, Tensors& out) {
  const auto beta_1 = attrs.get<double>("beta_1");
  const auto beta_2 = attrs.get<double>("beta_2");
  const double rate = scalar(in[4]);
  const double t = scalar(in[5]);
  const double gate = gate_of(in, out);
  if (gate == 0) return;
  const double corrected =
      rate * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t));
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    const double g = gate * in[1].values[i];
    const double first = beta_1 * in[2].values[i] + (1 - beta_1) * g;
    const double second = beta_2 * in[3].values[i] + (1 - beta_2) * g * g;
    double parameter = in[0].values[i];
    parameter -= rate * attrs.get<double>("weight_decay") * parameter;
    out[0].values[i] =
        parameter -
        corrected * first / (std::sqrt(second) + attrs.get<double>("epsilon"));
    out[1].values[i] = first;
    out[2].values[i] = second;
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

constexpr Reference kReferences[] = {{"sgd", sgd},
                                     {"sgd_momentum", sgd_momentum},
                                     {"adam", adamw},  // without weight decay
                                     {"adamw", adamw},
                                     {"increment", increment},
                                     {"accumulate", accumulate},
                                     {"all_finite", all_finite},
                                     {"scale_step", scale_step}};

}  // namespace

std::span<const Reference> update_references() { return kReferences; }

}  // namespace plimsoll::ops
