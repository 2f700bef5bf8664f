#include "ops/softmax/softmax_reference.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::ops {
namespace {

void softmax(const std::vector<RefTensor>& inputs, const graph::Attrs&,
             std::vector<RefTensor>& outputs) {
  const auto& x = inputs[0].values;
  auto& y = outputs[0].values;
  const auto n = static_cast<std::size_t>(inputs[0].type.shape.extent(-1));
  for (std::size_t row = 0; row < x.size(); row += n) {
    double top = x[row];
    for (std::size_t j = 1; j < n; ++j) top = std::max(top, x[row + j]);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::exp(x[row + j] - top);
    for (std::size_t j = 0; j < n; ++j) {
      y[row + j] = std::exp(x[row + j] - top) / sum;
    }
  }
}

void softmax_grad(const std::vector<RefTensor>& inputs, const graph::Attrs&,
                  std::vector<RefTensor>& outputs) {
  const auto& dy = inputs[0].values;
  const auto& y = inputs[1].values;
  const auto n = static_cast<std::size_t>(inputs[0].type.shape.extent(-1));
  for (std::size_t row = 0; row < y.size(); row += n) {
    double dot = 0;
    for (std::size_t j = row; j < row + n; ++j) dot += dy[j] * y[j];
    for (std::size_t j = row; j < row + n; ++j) {
      outputs[0].values[j] = (dy[j] - dot) * y[j];
    }
  }
}

}  // namespace

std::span<const Reference> softmax_references() {
  static constexpr std::array references = {
      Reference{"softmax", softmax}, Reference{"softmax_grad", softmax_grad}};
  return references;
}

}  // namespace plimsoll::ops
