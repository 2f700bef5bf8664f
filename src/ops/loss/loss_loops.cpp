// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/loss/loss_loops.h"

#include "ops/softmax/row_math.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

// -log_softmax(x)[j] = log_sum - (x[j] - top): the difference first, so that
// large logits do not swallow a small loss.
template <class T>
struct LogSum {
  T top;
  double log_sum;
};

template <class T>
LogSum<T> log_sum_of(const T* x, std::int64_t n) {
  const T top = row_max(x, n);
  return {top, __builtin_log(static_cast<double>(
                   exp_sum(x, n, top, static_cast<T*>(nullptr))))};
}

template <class T>
T row_sum(const T* x, std::int64_t n) {
  Lanes<T> sums = {};
  for (std::int64_t i = 0; i < n; i += kRowLanes) {
    Lanes<T> lanes;
    load_lanes(x, i, n, T(0), lanes);
    sums += lanes;
  }
  return lane_sum<T>(sums);
}

template <class T>
void dense(const T* x, const T* labels, std::int64_t rows, std::int64_t n,
           T* loss) {
  for (std::int64_t row = 0; row < rows; ++row, x += n, labels += n) {
    const LogSum<T> at = log_sum_of(x, n);
    const T log_sum = static_cast<T>(at.log_sum);
    const Lanes<T> zero = {};
    Lanes<T> sums = {};
    for (std::int64_t i = 0; i < n; i += kRowLanes) {
      Lanes<T> a, b;
      load_lanes(x, i, n, at.top, a);
      load_lanes(labels, i, n, T(0), b);
      // A class of no weight adds nothing, though its logit be -infinity.
      sums += b == 0 ? zero : b * (log_sum - (a - at.top));
    }
    loss[row] = lane_sum<T>(sums);
  }
}

template <class T>
void dense_grad(const T* dy, const T* x, const T* labels, std::int64_t rows,
                std::int64_t n, T* dx) {
  for (std::int64_t row = 0; row < rows; ++row, x += n, labels += n, dx += n) {
    const T top = row_max(x, n);
    const T weight = row_sum(labels, n);
    const T scale = weight / exp_sum(x, n, top, dx);
    for (std::int64_t j = 0; j < n; ++j) {
      dx[j] = dy[row] * (dx[j] * scale - labels[j]);
    }
  }
}

template <class T>
void sparse(const T* x, const std::int32_t* labels, std::int64_t rows,
            std::int64_t n, T* loss) {
  for (std::int64_t row = 0; row < rows; ++row, x += n) {
    const std::int64_t label = labels[row];
    if (label < 0 || label >= n) {
      loss[row] = static_cast<T>(__builtin_nan(""));
      continue;
    }
    const LogSum<T> at = log_sum_of(x, n);
    loss[row] =
        static_cast<T>(at.log_sum - static_cast<double>(x[label] - at.top));
  }
}

template <class T>
void sparse_grad(const T* dy, const T* x, const std::int32_t* labels,
                 std::int64_t rows, std::int64_t n, T* dx) {
  for (std::int64_t row = 0; row < rows; ++row, x += n, dx += n) {
    const std::int64_t label = labels[row];
    const bool known = label >= 0 && label < n;
    const T top = row_max(x, n);
    const T scale = dy[row] / exp_sum(x, n, top, dx);
    for (std::int64_t j = 0; j < n; ++j) dx[j] *= scale;
    if (known) {
      dx[label] -= dy[row];
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        dx[j] = static_cast<T>(__builtin_nan(""));
      }
    }
  }
}

template <class T>
LossLoops<T> loops() {
  return {dense<T>, dense_grad<T>, sparse<T>, sparse_grad<T>};
}

}  // namespace

LossTables loss_tables() { return {loops<float>(), loops<double>()}; }

}  // namespace plimsoll::ops::PLIMSOLL_ISA
