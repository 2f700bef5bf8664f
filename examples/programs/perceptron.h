// Two dense layers by hand, for loops that are written out: weights as tensors,
// and a loss to take gradients of.
#pragma once

#include <cmath>
#include <vector>

#include "plimsoll/plimsoll.h"

namespace example {

struct Perceptron {
  std::int64_t inputs = 0, hidden = 0;
  // Kernel and bias of each layer.
  std::vector<plimsoll::Tensor> weights;

  Perceptron(std::int64_t of_inputs, std::int64_t of_hidden)
      : inputs(of_inputs), hidden(of_hidden) {
    const auto kernel = [](std::int64_t in, std::int64_t out, int seed) {
      const double deviation = 1 / std::sqrt(static_cast<double>(in));
      return plimsoll::random_normal({in, out}, seed, 0, deviation);
    };
    weights = {kernel(inputs, hidden, 1), plimsoll::zeros({hidden}),
               kernel(hidden, 1, 2), plimsoll::zeros({1})};
  }

  plimsoll::Tensor operator()(const plimsoll::Tensor& x) const {
    const auto h = plimsoll::tanh(plimsoll::matmul(x, weights[0]) + weights[1]);
    return plimsoll::matmul(h, weights[2]) + weights[3];
  }

  plimsoll::Tensor loss(const plimsoll::Tensor& x,
                        const plimsoll::Tensor& y) const {
    return plimsoll::mean_squared_error(y, (*this)(x));
  }

  void descend(const std::vector<plimsoll::Tensor>& gradients, double rate) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= gradients[i] * rate;
    }
  }
};

// One batch of a problem that it can learn: the sum of the first columns.
struct Examples {
  plimsoll::Tensor x, y;

  Examples(std::int64_t count, std::int64_t inputs, std::int64_t seed)
      : x(plimsoll::random_normal({count, inputs}, seed)),
        y(plimsoll::sum(x.at({plimsoll::slice(), plimsoll::slice(0, 4)}), {1},
                        true)) {}
};

}  // namespace example
