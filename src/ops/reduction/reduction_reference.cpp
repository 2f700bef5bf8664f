#include "ops/reduction/reduction_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/reduction/reduction_axes.h"

namespace plimsoll::ops {
namespace {

using Axes = std::vector<std::int64_t>;

// Calls visit(input index, output index) for every element of the input.
template <class Visit>
void for_each_element(const Shape& shape, const std::vector<int>& axes,
                      Visit&& visit) {
  const auto strides = row_major_strides(shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    std::int64_t to = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (std::binary_search(axes.begin(), axes.end(), axis)) continue;
      const std::int64_t at =
          i / strides[static_cast<std::size_t>(axis)] % shape.extent(axis);
      to = to * shape.extent(axis) + at;
    }
    visit(static_cast<std::size_t>(i), static_cast<std::size_t>(to));
  }
}

std::vector<int> axes_of(const Shape& shape, const graph::Attrs& attrs) {
  auto axes = reduced_axes(shape, attrs.get<Axes>("axes"));
  return axes ? *axes : std::vector<int>();
}

void sum(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
         std::vector<RefTensor>& outputs) {
  const Shape& shape = inputs[0].type.shape;
  std::vector<long double> sums(outputs[0].values.size(), 0);
  for_each_element(shape, axes_of(shape, attrs),
                   [&](std::size_t from, std::size_t to) {
                     sums[to] += inputs[0].values[from];
                   });
  std::copy(sums.begin(), sums.end(), outputs[0].values.begin());
}

void mean(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
          std::vector<RefTensor>& outputs) {
  sum(inputs, attrs, outputs);
  const Shape& shape = inputs[0].type.shape;
  const auto count =
      static_cast<double>(reduced_count(shape, axes_of(shape, attrs)));
  for (double& value : outputs[0].values) value /= count;
}

void max(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
         std::vector<RefTensor>& outputs) {
  const Shape& shape = inputs[0].type.shape;
  auto& values = outputs[0].values;
  std::fill(values.begin(), values.end(),
            -std::numeric_limits<double>::infinity());
  for_each_element(shape, axes_of(shape, attrs),
                   [&](std::size_t from, std::size_t to) {
                     const double value = inputs[0].values[from];
                     // NaN stays, on either side.
                     if (value > values[to] || std::isnan(value)) {
                       values[to] = value;
                     }
                   });
}

void divide_by_count(const std::vector<RefTensor>& inputs,
                     const graph::Attrs& attrs,
                     std::vector<RefTensor>& outputs) {
  const auto shape = attrs.get<Shape>("shape");
  const auto count =
      static_cast<double>(reduced_count(shape, axes_of(shape, attrs)));
  for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
    outputs[0].values[i] = inputs[0].values[i] / count;
  }
}

}  // namespace

std::span<const Reference> reduction_references() {
  static constexpr std::array references = {
      Reference{"reduce_sum", sum}, Reference{"reduce_mean", mean},
      Reference{"reduce_max", max},
      Reference{"divide_by_count", divide_by_count}};
  return references;
}

}  // namespace plimsoll::ops
