// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/softmax/softmax_loops.h"

#include "ops/softmax/row_math.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

template <class T>
void forward(const T* x, std::int64_t rows, std::int64_t n, T* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const T top = row_max(x, n);
    const T scale = 1 / exp_sum(x, n, top, y);
    for (std::int64_t j = 0; j < n; ++j) y[j] *= scale;
  }
}

template <class T>
void backward(const T* dy, const T* y, std::int64_t rows, std::int64_t n,
              T* dx) {
  for (std::int64_t row = 0; row < rows; ++row, dy += n, y += n, dx += n) {
    Lanes<T> sums = {};
    for (std::int64_t i = 0; i < n; i += kRowLanes) {
      Lanes<T> a, b;
      load_lanes(dy, i, n, T(0), a);
      load_lanes(y, i, n, T(0), b);
      sums += a * b;
    }
    const T dot = lane_sum<T>(sums);
    for (std::int64_t j = 0; j < n; ++j) dx[j] = (dy[j] - dot) * y[j];
  }
}

}  // namespace

SoftmaxTables softmax_tables() {
  return {{forward<float>, backward<float>},
          {forward<double>, backward<double>}};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
