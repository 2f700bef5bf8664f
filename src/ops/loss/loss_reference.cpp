#include "ops/loss/loss_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plimsoll::ops {
namespace {

using Values = std::vector<double>;

std::size_t classes_of(const RefTensor& scores) {
  return static_cast<std::size_t>(scores.type.shape.extent(-1));
}

// log_softmax of the row that begins at `row`.
Values log_softmax(const Values& x, std::size_t row, std::size_t n) {
  const double top = *std::max_element(x.begin() + static_cast<long>(row),
                                       x.begin() + static_cast<long>(row + n));
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum += std::exp(x[row + j] - top);
  Values logs(n);
  for (std::size_t j = 0; j < n; ++j)
    logs[j] = x[row + j] - top - std::log(sum);
  return logs;
}

// The labels of one row as weights, whichever way they came; empty for an
// index outside of the classes.
Values weights(const RefTensor& labels, std::size_t row, std::size_t n) {
  if (labels.type.dtype != DType::i32) {
    const auto begin = labels.values.begin() + static_cast<long>(row * n);
    return Values(begin, begin + static_cast<long>(n));
  }
  const double label = labels.values[row];
  if (label < 0 || label >= static_cast<double>(n)) return {};
  Values one_hot(n, 0);
  one_hot[static_cast<std::size_t>(label)] = 1;
  return one_hot;
}

void cross_entropy(const std::vector<RefTensor>& inputs, const graph::Attrs&,
                   std::vector<RefTensor>& outputs) {
  const std::size_t n = classes_of(inputs[0]);
  for (std::size_t row = 0; row < outputs[0].values.size(); ++row) {
    const Values logs = log_softmax(inputs[0].values, row * n, n);
    const Values label = weights(inputs[1], row, n);
    double loss = label.empty() ? std::numeric_limits<double>::quiet_NaN() : 0;
    for (std::size_t j = 0; j < label.size(); ++j) loss -= label[j] * logs[j];
    outputs[0].values[row] = loss;
  }
}

void cross_entropy_grad(const std::vector<RefTensor>& inputs,
                        const graph::Attrs&, std::vector<RefTensor>& outputs) {
  const std::size_t n = classes_of(inputs[1]);
  for (std::size_t row = 0; row < inputs[0].values.size(); ++row) {
    const Values logs = log_softmax(inputs[1].values, row * n, n);
    const Values label = weights(inputs[2], row, n);
    double total = label.empty() ? std::numeric_limits<double>::quiet_NaN() : 0;
    for (const double weight : label) total += weight;
    for (std::size_t j = 0; j < n; ++j) {
      const double own = label.empty() ? 0 : label[j];
      outputs[0].values[row * n + j] =
          inputs[0].values[row] * (total * std::exp(logs[j]) - own);
    }
  }
}

// x [rows, D] times the weight, [D, V] or [V, D], and a bias where there is
// one.
RefTensor logits_of(const RefTensor& x, const RefTensor& weight,
                    const RefTensor* bias, const graph::Attrs& attrs) {
  const bool turned = attrs.get<bool>("transposed");
  const std::size_t width = classes_of(x);
  const auto classes =
      static_cast<std::size_t>(weight.type.shape.extent(turned ? 0 : 1));
  const std::size_t rows = x.values.size() / width;
  RefTensor logits{{x.type.dtype, Shape{static_cast<std::int64_t>(rows),
                                        static_cast<std::int64_t>(classes)}},
                   Values(rows * classes)};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t v = 0; bias != nullptr && v < classes; ++v) {
      logits.values[row * classes + v] = bias->values[v];
    }
    for (std::size_t j = 0; j < width; ++j) {
      for (std::size_t v = 0; v < classes; ++v) {
        logits.values[row * classes + v] +=
            x.values[row * width + j] *
            weight.values[turned ? v * width + j : j * classes + v];
      }
    }
  }
  return logits;
}

void linear_cross_entropy(const std::vector<RefTensor>& inputs,
                          const graph::Attrs& attrs,
                          std::vector<RefTensor>& outputs) {
  const RefTensor* const bias = inputs.size() == 4 ? &inputs[3] : nullptr;
  cross_entropy({logits_of(inputs[0], inputs[1], bias, attrs), inputs[2]},
                attrs, outputs);
}

void linear_cross_entropy_grad(const std::vector<RefTensor>& inputs,
                               const graph::Attrs& attrs,
                               std::vector<RefTensor>& outputs) {
  const RefTensor& x = inputs[1];
  const RefTensor& weight = inputs[2];
  const RefTensor* const bias = inputs.size() == 5 ? &inputs[4] : nullptr;
  const RefTensor logits = logits_of(x, weight, bias, attrs);
  std::vector<RefTensor> made = {logits};
  cross_entropy_grad({inputs[0], logits, inputs[3]}, attrs, made);
  const bool turned = attrs.get<bool>("transposed");
  const std::size_t width = classes_of(x);
  const std::size_t classes = classes_of(logits);
  for (RefTensor& output : outputs) {
    std::fill(output.values.begin(), output.values.end(), 0.0);
  }
  for (std::size_t row = 0; row * width < x.values.size(); ++row) {
    for (std::size_t v = 0; bias != nullptr && v < classes; ++v) {
      outputs[2].values[v] += made[0].values[row * classes + v];
    }
    for (std::size_t j = 0; j < width; ++j) {
      for (std::size_t v = 0; v < classes; ++v) {
        const std::size_t at = turned ? v * width + j : j * classes + v;
        const double g = made[0].values[row * classes + v];
        outputs[0].values[row * width + j] += g * weight.values[at];
        outputs[1].values[at] += g * x.values[row * width + j];
      }
    }
  }
}

std::size_t first_largest(const Values& x, std::size_t row, std::size_t n) {
  const auto begin = x.begin() + static_cast<long>(row * n);
  return static_cast<std::size_t>(
      std::max_element(begin, begin + static_cast<long>(n)) - begin);
}

void argmax_equals(const std::vector<RefTensor>& inputs, const graph::Attrs&,
                   std::vector<RefTensor>& outputs) {
  const std::size_t n = classes_of(inputs[0]);
  for (std::size_t row = 0; row < outputs[0].values.size(); ++row) {
    const double label =
        inputs[1].type.dtype == DType::i32
            ? inputs[1].values[row]
            : static_cast<double>(first_largest(inputs[1].values, row, n));
    const auto best =
        static_cast<double>(first_largest(inputs[0].values, row, n));
    outputs[0].values[row] = best == label ? 1 : 0;
  }
}

}  // namespace

std::span<const Reference> loss_references() {
  static constexpr std::array references = {
      Reference{"softmax_cross_entropy", cross_entropy},
      Reference{"softmax_cross_entropy_grad", cross_entropy_grad},
      Reference{"sparse_softmax_cross_entropy", cross_entropy},
      Reference{"sparse_softmax_cross_entropy_grad", cross_entropy_grad},
      Reference{"linear_cross_entropy", linear_cross_entropy},
      Reference{"linear_cross_entropy_grad", linear_cross_entropy_grad},
      Reference{"argmax_equals", argmax_equals}};
  return references;
}

}  // namespace plimsoll::ops
