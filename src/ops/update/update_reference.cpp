#include "ops/update/update_reference.h"

#include <cmath>

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<RefTensor>;

double scalar(const RefTensor& tensor) { return tensor.values[0]; }

void sgd(const Tensors& in, const graph::Attrs&, Tensors& out) {
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    out[0].values[i] = in[0].values[i] - scalar(in[2]) * in[1].values[i];
  }
}

void sgd_momentum(const Tensors& in, const graph::Attrs& attrs, Tensors& out) {
  const auto momentum = attrs.get<double>("momentum");
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    const double velocity =
        momentum * in[2].values[i] - scalar(in[3]) * in[1].values[i];
    out[0].values[i] = in[0].values[i] + velocity;
    out[1].values[i] = velocity;
  }
}

void adamw(const Tensors& in, const graph::Attrs& attrs, Tensors& out) {
  const auto beta_1 = attrs.get<double>("beta_1");
  const auto beta_2 = attrs.get<double>("beta_2");
  const double rate = scalar(in[4]);
  const double t = scalar(in[5]);
  const double corrected =
      rate * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t));
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    const double g = in[1].values[i];
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

void accumulate(const Tensors& in, const graph::Attrs&, Tensors& out) {
  out[0].values[0] = scalar(in[0]) + scalar(in[1]);
}

constexpr Reference kReferences[] = {{"sgd", sgd},
                                     {"sgd_momentum", sgd_momentum},
                                     {"adam", adamw},  // without weight decay
                                     {"adamw", adamw},
                                     {"increment", increment},
                                     {"accumulate", accumulate}};

}  // namespace

std::span<const Reference> update_references() { return kReferences; }

}  // namespace plimsoll::ops
