#include "ops/resize/resize_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace plimsoll::ops {
namespace {

using graph::Attrs;

// A pixel of one axis and what it counts in a pixel of the result.
struct Weight {
  std::int64_t pixel = 0;
  double weight = 0;
};

// The centre of pixel i, as the images' pixels are numbered.
std::array<Weight, 2> weights_of(std::int64_t i, std::int64_t from,
                                 std::int64_t to, bool nearest) {
  // Long, so that differences of far places keep their digits.
  const long double centre = (static_cast<long double>(i) + 0.5L) *
                             static_cast<long double>(from) /
                             static_cast<long double>(to);
  const auto held = [&](long double at) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, from - 1);
  };
  // A centre on the border between two belongs to the one behind it.
  if (nearest) return {{{held(std::floor(centre + 1e-9L)), 1.0}, {0, 0.0}}};
  const long double low = std::floor(centre - 0.5L);
  const auto part = static_cast<double>(centre - 0.5L - low);
  return {{{held(low), 1 - part}, {held(low + 1), part}}};
}

// Calls visit(where in the images, where in the result, weight).
template <class F>
void for_weights(const Shape& images, const Shape& result, const Attrs& attrs,
                 const F& visit) {
  const bool nearest = attrs.get<std::string>("method") == "nearest";
  const auto at = [](const Shape& shape, std::int64_t b, std::int64_t y,
                     std::int64_t x, std::int64_t c) {
    return static_cast<std::size_t>(
        ((b * shape.extent(1) + y) * shape.extent(2) + x) * shape.extent(3) +
        c);
  };
  for (std::int64_t b = 0; b < result.extent(0); ++b) {
    for (std::int64_t y = 0; y < result.extent(1); ++y) {
      const auto rows =
          weights_of(y, images.extent(1), result.extent(1), nearest);
      for (std::int64_t x = 0; x < result.extent(2); ++x) {
        const auto columns =
            weights_of(x, images.extent(2), result.extent(2), nearest);
        for (const Weight& row : rows) {
          for (const Weight& column : columns) {
            for (std::int64_t c = 0; c < result.extent(3); ++c) {
              visit(at(images, b, row.pixel, column.pixel, c),
                    at(result, b, y, x, c), row.weight * column.weight);
            }
          }
        }
      }
    }
  }
}

void resize_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                   std::vector<RefTensor>& outputs) {
  auto& to = outputs[0].values;
  std::fill(to.begin(), to.end(), 0.0);
  for_weights(inputs[0].type.shape, outputs[0].type.shape, attrs,
              [&](std::size_t from, std::size_t at, double weight) {
                to[at] += weight * inputs[0].values[from];
              });
}

void resize_grad_values(const std::vector<RefTensor>& inputs,
                        const Attrs& attrs, std::vector<RefTensor>& outputs) {
  auto& dx = outputs[0].values;
  std::fill(dx.begin(), dx.end(), 0.0);
  for_weights(outputs[0].type.shape, inputs[0].type.shape, attrs,
              [&](std::size_t at, std::size_t from, double weight) {
                dx[at] += weight * inputs[0].values[from];
              });
}

}  // namespace

std::span<const Reference> resize_references() {
  static constexpr std::array<Reference, 2> all = {{
      {"resize", resize_values},
      {"resize_grad", resize_grad_values},
  }};
  return all;
}

}  // namespace plimsoll::ops
