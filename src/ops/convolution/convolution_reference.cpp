#include "ops/convolution/convolution_reference.h"

#include <algorithm>
#include <array>

#include "ops/convolution/conv_shape.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using Values = std::vector<double>;

std::size_t at(const Shape& shape, std::int64_t a, std::int64_t b,
               std::int64_t c, std::int64_t d) {
  return static_cast<std::size_t>(
      ((a * shape.extent(1) + b) * shape.extent(2) + c) * shape.extent(3) + d);
}

// Calls visit(element of x, of w, of y) for each product of the sums: straight
// from the definition.
template <class F>
void for_products(const Shape& x, const Shape& w, const Shape& y,
                  const Attrs& attrs, const F& visit) {
  const Conv2dSettings set = settings_of(attrs);
  const std::int64_t each = y.extent(3) / set.groups;
  for (std::int64_t b = 0; b < y.extent(0); ++b) {
    for (std::int64_t i = 0; i < y.extent(1); ++i) {
      for (std::int64_t j = 0; j < y.extent(2); ++j) {
        for (std::int64_t o = 0; o < y.extent(3); ++o) {
          for (std::int64_t k = 0; k < w.extent(1); ++k) {
            for (std::int64_t l = 0; l < w.extent(2); ++l) {
              const std::int64_t row =
                  i * set.strides[0] + k * set.dilations[0] - set.padding[0];
              const std::int64_t column =
                  j * set.strides[1] + l * set.dilations[1] - set.padding[2];
              if (row < 0 || row >= x.extent(1)) continue;
              if (column < 0 || column >= x.extent(2)) continue;
              for (std::int64_t c = 0; c < w.extent(3); ++c) {
                visit(at(x, b, row, column, o / each * w.extent(3) + c),
                      at(w, o, k, l, c), at(y, b, i, j, o));
              }
            }
          }
        }
      }
    }
  }
}

void conv2d_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                   std::vector<RefTensor>& outputs) {
  Values& y = outputs[0].values;
  const Values& x = inputs[0].values;
  const Values& w = inputs[1].values;
  const auto filters =
      static_cast<std::size_t>(outputs[0].type.shape.extent(3));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = inputs.size() > 2 ? inputs[2].values[i % filters] : 0;
  }
  for_products(inputs[0].type.shape, inputs[1].type.shape,
               outputs[0].type.shape, attrs,
               [&](std::size_t in, std::size_t weight, std::size_t out) {
                 y[out] += x[in] * w[weight];
               });
  if (attrs.get<std::string>("activation") != "relu") return;
  for (double& value : y) value = std::max(value, 0.0);
}

void data_grad_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                      std::vector<RefTensor>& outputs) {
  Values& dx = outputs[0].values;
  const Values& dy = inputs[0].values;
  const Values& w = inputs[1].values;
  std::fill(dx.begin(), dx.end(), 0.0);
  for_products(outputs[0].type.shape, inputs[1].type.shape,
               inputs[0].type.shape, attrs,
               [&](std::size_t in, std::size_t weight, std::size_t out) {
                 dx[in] += dy[out] * w[weight];
               });
}

void weight_grad_values(const std::vector<RefTensor>& inputs,
                        const Attrs& attrs, std::vector<RefTensor>& outputs) {
  Values& dw = outputs[0].values;
  const Values& dy = inputs[0].values;
  const Values& x = inputs[1].values;
  std::fill(dw.begin(), dw.end(), 0.0);
  for_products(inputs[1].type.shape, outputs[0].type.shape,
               inputs[0].type.shape, attrs,
               [&](std::size_t in, std::size_t weight, std::size_t out) {
                 dw[weight] += dy[out] * x[in];
               });
}

}  // namespace

std::span<const Reference> convolution_references() {
  static constexpr std::array<Reference, 3> all = {{
      {"conv2d", conv2d_values},
      {"conv2d_data_grad", data_grad_values},
      {"conv2d_weight_grad", weight_grad_values},
  }};
  return all;
}

}  // namespace plimsoll::ops
