#include "ops/elementwise/elementwise_reference.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "ops/elementwise/elementwise.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::ElementwiseCode;
using graph::ElementwiseExpression;

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi /
         std::numbers::sqrt2;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The tanh form's argument and its derivative.
constexpr double kGeluFactor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
double gelu_argument(double x) {
  return kGeluFactor * (x + 0.044715 * x * x * x);
}
double gelu_argument_slope(double x) {
  return kGeluFactor * (1 + 3 * 0.044715 * x * x);
}

double compute(ElementwiseCode code, double a, double b, double c, double s) {
  switch (code) {
    case ElementwiseCode::constant:
      return s;
    case ElementwiseCode::identity:
      return a;
    case ElementwiseCode::negate:
      return -a;
    case ElementwiseCode::add:
      return a + b;
    case ElementwiseCode::subtract:
      return a - b;
    case ElementwiseCode::multiply:
      return a * b;
    case ElementwiseCode::divide:
      return a / b;
    case ElementwiseCode::maximum:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
    case ElementwiseCode::minimum:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
    case ElementwiseCode::add_scalar:
      return a + s;
    case ElementwiseCode::multiply_scalar:
      return a * s;
    case ElementwiseCode::maximum_scalar:
      return std::isnan(a) ? a : std::fmax(a, s);
    case ElementwiseCode::minimum_scalar:
      return std::isnan(a) ? a : std::fmin(a, s);
    case ElementwiseCode::square:
      return a * a;
    case ElementwiseCode::sqrt:
      return std::sqrt(a);
    case ElementwiseCode::exp:
      return std::exp(a);
    case ElementwiseCode::log:
      return std::log(a);
    case ElementwiseCode::abs:
      return std::fabs(a);
    case ElementwiseCode::sign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case ElementwiseCode::equal:
      return a == b ? 1 : 0;
    case ElementwiseCode::greater:
      return a > b ? 1 : 0;
    case ElementwiseCode::greater_scalar:
      return a > s ? 1 : 0;
    case ElementwiseCode::relu:
      return a <= 0 ? 0 : a;
    case ElementwiseCode::leaky_relu:
      return a > 0 ? a : s * a;
    case ElementwiseCode::sigmoid:
      return sigmoid(a);
    case ElementwiseCode::tanh:
      return std::tanh(a);
    case ElementwiseCode::gelu:
      return a * normal_cdf(a);
    case ElementwiseCode::relu_grad:
      return b > 0 ? a : 0;
    case ElementwiseCode::leaky_relu_grad:
      return b > 0 ? a : s * a;
    case ElementwiseCode::sigmoid_grad:
      return a * b * (1 - b);
    case ElementwiseCode::tanh_grad:
      return a * (1 - b * b);
    case ElementwiseCode::gelu_grad:
      return a * (normal_cdf(b) + b * normal_density(b));
    case ElementwiseCode::bce_logits:
      return std::fmax(a, 0) - a * b + std::log1p(std::exp(-std::fabs(a)));
    case ElementwiseCode::gelu_tanh:
      return 0.5 * a * (1 + std::tanh(gelu_argument(a)));
    case ElementwiseCode::silu:
      return a * sigmoid(a);
    case ElementwiseCode::elu:
      return a > 0 ? a : s * std::expm1(a);
    case ElementwiseCode::softplus:
      return std::fmax(a, 0) + std::log1p(std::exp(-std::fabs(a)));
    case ElementwiseCode::gelu_tanh_grad: {
      const double t = std::tanh(gelu_argument(b));
      return a *
             (0.5 * (1 + t) + 0.5 * b * (1 - t * t) * gelu_argument_slope(b));
    }
    case ElementwiseCode::silu_grad:
      return a * sigmoid(b) * (1 + b * (1 - sigmoid(b)));
    case ElementwiseCode::elu_grad:
      return b > 0 ? a : a * (b + s);
    case ElementwiseCode::softplus_grad:
      return a * -std::expm1(-b);
    case ElementwiseCode::power:
      return std::pow(a, b);
    case ElementwiseCode::power_scalar:
      return std::pow(a, s);
    case ElementwiseCode::less:
      return a < b ? 1 : 0;
    case ElementwiseCode::less_equal:
      return a <= b ? 1 : 0;
    case ElementwiseCode::greater_equal:
      return a >= b ? 1 : 0;
    case ElementwiseCode::not_equal:
      return a != b ? 1 : 0;
    case ElementwiseCode::where:
      return a != 0 ? b : c;
  }
  return std::nan("");
}

// Strides of an input over the output's dimensions: 0 where it is broadcast.
std::vector<std::int64_t> strides_over(const Shape& output,
                                       const Shape& input) {
  const auto dense = row_major_strides(input);
  std::vector<std::int64_t> strides(static_cast<std::size_t>(output.rank()));
  for (int i = 1; i <= input.rank(); ++i) {
    if (input.extent(-i) == 1) continue;
    strides[static_cast<std::size_t>(output.rank() - i)] =
        dense[static_cast<std::size_t>(input.rank() - i)];
  }
  return strides;
}

std::size_t offset_of(std::int64_t flat, const Shape& output,
                      const std::vector<std::int64_t>& strides) {
  std::int64_t offset = 0;
  for (int axis = output.rank(); axis-- > 0;) {
    offset +=
        flat % output.extent(axis) * strides[static_cast<std::size_t>(axis)];
    flat /= output.extent(axis);
  }
  return static_cast<std::size_t>(offset);
}

void run(const ElementwiseExpression& expression,
         const std::vector<RefTensor>& inputs,
         std::vector<RefTensor>& outputs) {
  const Shape& shape = outputs[0].type.shape;
  std::vector<std::vector<std::int64_t>> strides;
  for (const RefTensor& input : inputs) {
    strides.push_back(strides_over(shape, input.type.shape));
  }
  std::vector<double> operands;
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    operands.clear();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto flat = static_cast<std::int64_t>(i);
      operands.push_back(inputs[k].values[offset_of(flat, shape, strides[k])]);
    }
    for (const auto& step : expression.instructions) {
      const auto value = [&](int operand) {
        return operand < 0 ? 0 : operands[static_cast<std::size_t>(operand)];
      };
      operands.push_back(compute(step.code, value(step.a), value(step.b),
                                 value(step.c), step.scalar));
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      outputs[j].values[i] =
          operands[static_cast<std::size_t>(expression.results[j])];
    }
  }
}

template <std::size_t code>
void run_code(const std::vector<RefTensor>& inputs, const Attrs& attrs,
              std::vector<RefTensor>& outputs) {
  const auto& op = elementwise_op(static_cast<ElementwiseCode>(code));
  run(expression_of(op, attrs), inputs, outputs);
}

void run_fused(const std::vector<RefTensor>& inputs, const Attrs& attrs,
               std::vector<RefTensor>& outputs) {
  run(graph::expression_of(attrs), inputs, outputs);
}

template <std::size_t... codes>
std::array<Reference, sizeof...(codes) + 1> references(
    std::index_sequence<codes...>) {
  return {Reference{graph::name_of(static_cast<ElementwiseCode>(codes)),
                    run_code<codes>}...,
          Reference{"fused", run_fused}};
}

}  // namespace

std::span<const Reference> elementwise_references() {
  static const auto all =
      references(std::make_index_sequence<graph::kElementwiseCodes>());
  return all;
}

}  // namespace plimsoll::ops
