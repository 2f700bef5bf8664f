#include "ops/pooling/pooling_reference.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using Tensors = std::vector<RefTensor>;
using Numbers = std::vector<std::int64_t>;

std::size_t at(const Shape& shape, std::int64_t b, std::int64_t y,
               std::int64_t x, std::int64_t c) {
  return static_cast<std::size_t>(
      ((b * shape.extent(1) + y) * shape.extent(2) + x) * shape.extent(3) + c);
}

// A pixel of a window, and its place there.
struct Pixel {
  std::size_t image = 0;
  double place = 0;
};

// Calls visit(where in the result, pixels of the window that are no padding).
template <class F>
void for_windows(const Shape& images, const Shape& result, const Attrs& attrs,
                 const F& visit) {
  const auto window = attrs.get<Numbers>("window");
  const auto strides = attrs.get<Numbers>("strides");
  const auto padding = attrs.get<Numbers>("padding");
  for (std::int64_t b = 0; b < result.extent(0); ++b) {
    for (std::int64_t i = 0; i < result.extent(1); ++i) {
      for (std::int64_t j = 0; j < result.extent(2); ++j) {
        for (std::int64_t c = 0; c < result.extent(3); ++c) {
          std::vector<Pixel> pixels;
          for (std::int64_t k = 0; k < window[0] * window[1]; ++k) {
            const std::int64_t y = i * strides[0] - padding[0] + k / window[1];
            const std::int64_t x = j * strides[1] - padding[2] + k % window[1];
            if (y < 0 || y >= images.extent(1)) continue;
            if (x < 0 || x >= images.extent(2)) continue;
            pixels.push_back({at(images, b, y, x, c), static_cast<double>(k)});
          }
          visit(at(result, b, i, j, c), pixels);
        }
      }
    }
  }
}

void max_values(const Tensors& in, const Attrs& attrs, Tensors& out) {
  for_windows(in[0].type.shape, out[0].type.shape, attrs,
              [&](std::size_t to, const std::vector<Pixel>& pixels) {
                const auto& x = in[0].values;
                Pixel best = pixels[0];
                for (const Pixel& pixel : pixels) {
                  const double value = x[pixel.image];
                  if (std::isnan(x[best.image])) break;
                  if (value > x[best.image] || std::isnan(value)) best = pixel;
                }
                out[0].values[to] = x[best.image];
                out[1].values[to] = best.place;
              });
}

void max_grad_values(const Tensors& in, const Attrs& attrs, Tensors& out) {
  auto& dx = out[0].values;
  std::fill(dx.begin(), dx.end(), 0.0);
  for_windows(out[0].type.shape, in[0].type.shape, attrs,
              [&](std::size_t from, const std::vector<Pixel>& pixels) {
                for (const Pixel& pixel : pixels) {
                  if (pixel.place != in[1].values[from]) continue;
                  dx[pixel.image] += in[0].values[from];
                }
              });
}

void average_values(const Tensors& in, const Attrs& attrs, Tensors& out) {
  for_windows(in[0].type.shape, out[0].type.shape, attrs,
              [&](std::size_t to, const std::vector<Pixel>& pixels) {
                double sum = 0;
                for (const Pixel& pixel : pixels) {
                  sum += in[0].values[pixel.image];
                }
                out[0].values[to] = sum / static_cast<double>(pixels.size());
              });
}

void average_grad_values(const Tensors& in, const Attrs& attrs, Tensors& out) {
  auto& dx = out[0].values;
  std::fill(dx.begin(), dx.end(), 0.0);
  for_windows(out[0].type.shape, in[0].type.shape, attrs,
              [&](std::size_t from, const std::vector<Pixel>& pixels) {
                for (const Pixel& pixel : pixels) {
                  dx[pixel.image] +=
                      in[0].values[from] / static_cast<double>(pixels.size());
                }
              });
}

}  // namespace

std::span<const Reference> pooling_references() {
  static constexpr std::array<Reference, 4> all = {{
      {"max_pool2d", max_values},
      {"max_pool2d_grad", max_grad_values},
      {"avg_pool2d", average_values},
      {"avg_pool2d_grad", average_grad_values},
  }};
  return all;
}

}  // namespace plimsoll::ops
