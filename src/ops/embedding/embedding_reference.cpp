#include "ops/embedding/embedding_reference.h"

#include <cmath>
#include <map>

#include "ops/update/update.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using Tensors = std::vector<RefTensor>;
using Values = std::vector<double>;

std::size_t width_of(const RefTensor& rows) {
  return static_cast<std::size_t>(rows.type.shape.extent(-1));
}

bool is_row(double index, const RefTensor& table) {
  return index >= 0 && index < static_cast<double>(table.type.shape.extent(0));
}

// The sums of dy's rows, by where the row begins in `table`.
std::map<std::size_t, Values> summed(const RefTensor& dy,
                                     const RefTensor& indices,
                                     const RefTensor& table) {
  const std::size_t width = width_of(table);
  std::map<std::size_t, Values> sums;
  for (std::size_t i = 0; i < indices.values.size(); ++i) {
    if (!is_row(indices.values[i], table)) continue;
    const auto row = static_cast<std::size_t>(indices.values[i]);
    Values& sum = sums.try_emplace(row * width, width, 0.0).first->second;
    for (std::size_t j = 0; j < width; ++j) sum[j] += dy.values[i * width + j];
  }
  return sums;
}

// Copies table and states and calls rule(element, gradient) on those touched.
template <class Rule>
void update(const Tensors& in, Tensors& out, const Rule& rule) {
  out[0].values = in[0].values;
  for (std::size_t k = 1; k < out.size(); ++k) {
    out[k].values = in[k + 1].values;
  }
  const int at = update_gate(static_cast<int>(out.size()) - 1, in.size() - 1);
  const double gate = at < 0 ? 1 : in[static_cast<std::size_t>(at)].values[0];
  if (gate == 0) return;
  for (const auto& [start, sum] : summed(in[1], in.back(), in[0])) {
    for (std::size_t j = 0; j < sum.size(); ++j) {
      rule(start + j, gate * sum[j]);
    }
  }
}

void sgd(const Tensors& in, const Attrs&, Tensors& out) {
  update(in, out, [&](std::size_t i, double g) {
    out[0].values[i] -= in[2].values[0] * g;
  });
}

void sgd_momentum(const Tensors& in, const Attrs& attrs, Tensors& out) {
  update(in, out, [&](std::size_t i, double g) {
    double& velocity = out[1].values[i];
    velocity = attrs.get<double>("momentum") * velocity - in[3].values[0] * g;
    out[0].values[i] += velocity;
  });
}

void adamw(const Tensors& in, const Attrs& attrs, Tensors& out) {
  const auto beta_1 = attrs.get<double>("beta_1");
  const auto beta_2 = attrs.get<double>("beta_2");
  const double rate = in[4].values[0];
  const double t = in[5].values[0];
  const double corrected =
      rate * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t));
  update(in, out, [&](std::size_t i, double g) {
    double& first = out[1].values[i];
    double& second = out[2].values[i];
    first = beta_1 * first + (1 - beta_1) * g;
    second = beta_2 * second + (1 - beta_2) * g * g;
    double& parameter = out[0].values[i];
    parameter -= rate * attrs.get<double>("weight_decay") * parameter;
    parameter -=
        corrected * first / (std::sqrt(second) + attrs.get<double>("epsilon"));
  });
}

constexpr Reference kReferences[] = {
    {"sgd_rows", sgd},
    {"sgd_momentum_rows", sgd_momentum},
    {"adam_rows", adamw},  // without weight decay
    {"adamw_rows", adamw}};

}  // namespace

std::span<const Reference> embedding_references() { return kReferences; }

}  // namespace plimsoll::ops
