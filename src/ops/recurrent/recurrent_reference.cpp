#include "ops/recurrent/recurrent_reference.h"

#include <array>
#include <cmath>

#include "ops/recurrent/recurrent_shape.h"

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<RefTensor>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Where things lie: a unit of a step's states, a gate of it, a weight.
struct Places {
  explicit Places(std::string_view op, const Tensors& inputs) {
    std::vector<graph::TensorType> types;
    for (const RefTensor& input : inputs) types.push_back(input.type);
    const RecurrentShape shape = recurrent_shape(op, types);
    batch = static_cast<std::size_t>(shape.batch);
    steps = static_cast<std::size_t>(shape.steps);
    hidden = static_cast<std::size_t>(shape.hidden);
    gates = static_cast<std::size_t>(shape.gates());
  }
  std::size_t state(std::size_t b, std::size_t t, std::size_t j) const {
    return (b * steps + t) * hidden + j;
  }
  std::size_t gate(std::size_t b, std::size_t t, std::size_t g,
                   std::size_t j) const {
    return ((b * steps + t) * gates + g) * hidden + j;
  }
  // (h u)[g, j] for the states h of step t.
  double forward(const std::vector<double>& h, const std::vector<double>& u,
                 std::size_t b, std::size_t t, std::size_t g,
                 std::size_t j) const {
    double sum = 0;
    for (std::size_t k = 0; k < hidden; ++k) {
      sum += h[state(b, t, k)] * u[(k * gates + g) * hidden + j];
    }
    return sum;
  }
  // (d u')[j] for the gates' gradients d of step t.
  double backward(const std::vector<double>& d, const std::vector<double>& u,
                  std::size_t b, std::size_t t, std::size_t j) const {
    double sum = 0;
    for (std::size_t g = 0; g < gates; ++g) {
      for (std::size_t k = 0; k < hidden; ++k) {
        sum += d[gate(b, t, g, k)] * u[(j * gates + g) * hidden + k];
      }
    }
    return sum;
  }
  std::size_t batch, steps, hidden, gates;
};

void lstm(const Tensors& inputs, const graph::Attrs&, Tensors& outputs) {
  const Places at("lstm", inputs);
  const auto& x = inputs[0].values;
  auto& h = outputs[0].values;
  auto& cells = outputs[1].values;
  auto& gates = outputs[2].values;
  for (std::size_t t = 0; t < at.steps; ++t) {
    for (std::size_t b = 0; b < at.batch; ++b) {
      for (std::size_t j = 0; j < at.hidden; ++j) {
        const auto sum = [&](std::size_t g) {
          const double recurrent =
              t > 0 ? at.forward(h, inputs[1].values, b, t - 1, g, j) : 0;
          return x[at.gate(b, t, g, j)] + recurrent;
        };
        const double i = sigmoid(sum(0)), f = sigmoid(sum(1));
        const double g = std::tanh(sum(2)), o = sigmoid(sum(3));
        const double before = t > 0 ? cells[at.state(b, t - 1, j)] : 0;
        const double cell = f * before + i * g;
        cells[at.state(b, t, j)] = cell;
        h[at.state(b, t, j)] = o * std::tanh(cell);
        gates[at.gate(b, t, 0, j)] = i;
        gates[at.gate(b, t, 1, j)] = f;
        gates[at.gate(b, t, 2, j)] = g;
        gates[at.gate(b, t, 3, j)] = o;
      }
    }
  }
}

void lstm_grad(const Tensors& inputs, const graph::Attrs&, Tensors& outputs) {
  const Places at("lstm_grad", inputs);
  const auto& cells = inputs[2].values;
  const auto& gates = inputs[3].values;
  auto& d = outputs[0].values;
  std::vector<double> carry(at.batch * at.hidden);
  for (std::size_t t = at.steps; t-- > 0;) {
    for (std::size_t b = 0; b < at.batch; ++b) {
      for (std::size_t j = 0; j < at.hidden; ++j) {
        double dh = inputs[0].values[at.state(b, t, j)];
        if (t + 1 < at.steps) {
          dh += at.backward(d, inputs[1].values, b, t + 1, j);
        }
        const double i = gates[at.gate(b, t, 0, j)];
        const double f = gates[at.gate(b, t, 1, j)];
        const double g = gates[at.gate(b, t, 2, j)];
        const double o = gates[at.gate(b, t, 3, j)];
        const double y = std::tanh(cells[at.state(b, t, j)]);
        const double before = t > 0 ? cells[at.state(b, t - 1, j)] : 0;
        double& dc = carry[b * at.hidden + j];
        dc += dh * o * (1 - y * y);
        d[at.gate(b, t, 0, j)] = dc * g * i * (1 - i);
        d[at.gate(b, t, 1, j)] = dc * before * f * (1 - f);
        d[at.gate(b, t, 2, j)] = dc * i * (1 - g * g);
        d[at.gate(b, t, 3, j)] = dh * y * o * (1 - o);
        dc *= f;
      }
    }
  }
}

void gru(const Tensors& inputs, const graph::Attrs&, Tensors& outputs) {
  const Places at("gru", inputs);
  const auto& x = inputs[0].values;
  auto& h = outputs[0].values;
  for (std::size_t t = 0; t < at.steps; ++t) {
    for (std::size_t b = 0; b < at.batch; ++b) {
      for (std::size_t j = 0; j < at.hidden; ++j) {
        const auto recurrent = [&](std::size_t g) {
          return inputs[2].values[g * at.hidden + j] +
                 (t > 0 ? at.forward(h, inputs[1].values, b, t - 1, g, j) : 0);
        };
        const double z = sigmoid(x[at.gate(b, t, 0, j)] + recurrent(0));
        const double r = sigmoid(x[at.gate(b, t, 1, j)] + recurrent(1));
        const double product = recurrent(2);
        const double n = std::tanh(x[at.gate(b, t, 2, j)] + r * product);
        const double before = t > 0 ? h[at.state(b, t - 1, j)] : 0;
        h[at.state(b, t, j)] = z * before + (1 - z) * n;
        outputs[1].values[at.state(b, t, j)] = product;
        outputs[2].values[at.gate(b, t, 0, j)] = z;
        outputs[2].values[at.gate(b, t, 1, j)] = r;
        outputs[2].values[at.gate(b, t, 2, j)] = n;
      }
    }
  }
}

void gru_grad(const Tensors& inputs, const graph::Attrs&, Tensors& outputs) {
  const Places at("gru_grad", inputs);
  const auto& h = inputs[2].values;
  const auto& gates = inputs[4].values;
  auto& d = outputs[0].values;
  auto& recurrent = outputs[1].values;
  std::vector<double> carry(at.batch * at.hidden);
  for (std::size_t t = at.steps; t-- > 0;) {
    for (std::size_t b = 0; b < at.batch; ++b) {
      for (std::size_t j = 0; j < at.hidden; ++j) {
        double dh =
            inputs[0].values[at.state(b, t, j)] + carry[b * at.hidden + j];
        if (t + 1 < at.steps) {
          dh += at.backward(recurrent, inputs[1].values, b, t + 1, j);
        }
        const double z = gates[at.gate(b, t, 0, j)];
        const double r = gates[at.gate(b, t, 1, j)];
        const double n = gates[at.gate(b, t, 2, j)];
        const double before = t > 0 ? h[at.state(b, t - 1, j)] : 0;
        const double product = inputs[3].values[at.state(b, t, j)];
        const double dz = dh * (before - n) * z * (1 - z);
        const double dn = dh * (1 - z) * (1 - n * n);
        const double dr = dn * product * r * (1 - r);
        d[at.gate(b, t, 0, j)] = recurrent[at.gate(b, t, 0, j)] = dz;
        d[at.gate(b, t, 1, j)] = recurrent[at.gate(b, t, 1, j)] = dr;
        d[at.gate(b, t, 2, j)] = dn;
        recurrent[at.gate(b, t, 2, j)] = dn * r;
        carry[b * at.hidden + j] = dh * z;
      }
    }
  }
}

}  // namespace

std::span<const Reference> recurrent_references() {
  static constexpr std::array references = {
      Reference{"lstm", lstm}, Reference{"lstm_grad", lstm_grad},
      Reference{"gru", gru}, Reference{"gru_grad", gru_grad}};
  return references;
}

}  // namespace plimsoll::ops
