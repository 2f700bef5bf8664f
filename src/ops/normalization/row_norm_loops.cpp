// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/normalization/row_norm_loops.h"

#include "ops/normalization/stored_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

// Lanes that wait for each other's additions are few, and no lane adds more
// than 64 values before they go to double.
constexpr int kSets = 4;
constexpr std::int64_t kBlock = 64 * kSets * kRowLanes;

// Sums of kCount values an element, which add(i, end, sums) takes from the
// lanes at i: a fixed order, whatever the instruction set.
template <class C, int kCount, class Add>
inline void sum_row(std::int64_t n, double* totals, Add&& add) {
  for (int c = 0; c < kCount; ++c) totals[c] = 0;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t end = n - first < kBlock ? n : first + kBlock;
    Lanes<C> sets[kSets][kCount] = {};
    std::int64_t i = first;
    for (; i + kSets * kRowLanes <= end; i += kSets * kRowLanes) {
      for (int s = 0; s < kSets; ++s) {
        const std::int64_t at = i + s * kRowLanes;
        add(at, at + kRowLanes, sets[s]);
      }
    }
    for (; i < end; i += kRowLanes) add(i, end, sets[0]);
    for (int c = 0; c < kCount; ++c) {
      Lanes<C> all = (sets[0][c] + sets[1][c]) + (sets[2][c] + sets[3][c]);
      totals[c] += static_cast<double>(lane_sum<C>(all));
    }
  }
}

// The mean in two parts: elements less the first are exact where they are
// close to it, and what the first left out is small.
template <class C>
struct Middle {
  C most = 0;
  C rest = 0;
};

template <class T, bool kMean>
inline double moments(const T* x, std::int64_t n, Middle<Computed<T>>& middle) {
  using C = Computed<T>;
  const auto count = static_cast<double>(n);
  double totals[2];
  if (kMean) {
    sum_row<C, 1>(n, totals,
                  [&](std::int64_t i, std::int64_t end, Lanes<C>* sums) {
                    Lanes<C> v;
                    load_wide(x, i, end, C(0), v);
                    sums[0] += v;
                  });
    middle.most = static_cast<C>(totals[0] / count);
  }
  sum_row<C, 2>(n, totals,
                [&](std::int64_t i, std::int64_t end, Lanes<C>* sums) {
                  Lanes<C> v;
                  load_wide(x, i, end, middle.most, v);
                  if (kMean) {
                    v -= middle.most;
                    sums[0] += v;
                  }
                  sums[1] += v * v;
                });
  const double rest = totals[0] / count;
  if (kMean) middle.rest = static_cast<C>(rest);
  const double variance = totals[1] / count - rest * rest;
  return variance < 0 ? 0 : variance;
}

template <class T, bool kMean>
void forward_rows(const RowNormForward<T>& args, std::int64_t rows,
                  std::int64_t n) {
  using C = Computed<T>;
  const T* x = args.x;
  T* y = args.y;
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    Middle<C> middle;
    const double variance = moments<T, kMean>(x, n, middle);
    const auto deviation =
        static_cast<C>(1 / __builtin_sqrt(variance + args.epsilon));
    for_lanes(n, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> v, gamma, beta;
      load_wide(x, i, end, C(0), v);
      load_lanes(args.gamma, i, end, C(0), gamma);
      if (kMean) {
        load_lanes(args.beta, i, end, C(0), beta);
        v = ((v - middle.most) - middle.rest) * deviation * gamma + beta;
      } else {
        v = v * deviation * gamma;
      }
      store_narrow(v, y, i, end);
    });
    if (kMean) args.mean[row] = middle.most + middle.rest;
    args.deviation[row] = deviation;
  }
}

template <class C>
inline void add_to(C* sums, std::int64_t i, std::int64_t n,
                   const Lanes<C>& more) {
  Lanes<C> sum;
  load_lanes(sums, i, n, C(0), sum);
  sum += more;
  store_lanes(sum, sums, i, n);
}

template <class T, bool kMean>
void backward_rows(const RowNormBackward<T>& args, std::int64_t rows,
                   std::int64_t n) {
  using C = Computed<T>;
  const T* dy = args.dy;
  const T* x = args.x;
  T* dx = args.dx;
  const auto count = static_cast<double>(n);
  for (std::int64_t row = 0; row < rows; ++row, dy += n, x += n, dx += n) {
    const C mean = kMean ? args.mean[row] : C(0);
    const C deviation = args.deviation[row];
    // Of one vector: what flows in, normalized x, and their product with gamma.
    const auto load = [&](std::int64_t i, std::int64_t end, Lanes<C>& flow,
                          Lanes<C>& normal, Lanes<C>& scaled) {
      load_wide(dy, i, end, C(0), flow);
      load_wide(x, i, end, mean, normal);
      load_lanes(args.gamma, i, end, C(0), scaled);
      normal = (normal - mean) * deviation;
      scaled *= flow;
    };
    double totals[2];
    sum_row<C, 2>(n, totals,
                  [&](std::int64_t i, std::int64_t end, Lanes<C>* sums) {
                    Lanes<C> flow, normal, scaled;
                    load(i, end, flow, normal, scaled);
                    if (kMean) sums[0] += scaled;
                    sums[1] += scaled * normal;
                    if (args.dgamma != nullptr) {
                      const Lanes<C> share = flow * normal;
                      add_to(args.dgamma, i, end, share);
                    }
                    if (args.dbeta != nullptr) add_to(args.dbeta, i, end, flow);
                  });
    const auto level = static_cast<C>(totals[0] / count);
    const auto slope = static_cast<C>(totals[1] / count);
    for_lanes(n, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> flow, normal, scaled;
      load(i, end, flow, normal, scaled);
      if (kMean) scaled -= level;
      const Lanes<C> made = (scaled - normal * slope) * deviation;
      store_narrow(made, dx, i, end);
    });
  }
}

template <class T>
void forward(const RowNormForward<T>& args, std::int64_t rows, std::int64_t n) {
  args.mean != nullptr ? forward_rows<T, true>(args, rows, n)
                       : forward_rows<T, false>(args, rows, n);
}

template <class T>
void backward(const RowNormBackward<T>& args, std::int64_t rows,
              std::int64_t n) {
  args.mean != nullptr ? backward_rows<T, true>(args, rows, n)
                       : backward_rows<T, false>(args, rows, n);
}

}  // namespace

RowNormTables row_norm_tables() {
  return {{forward<float>, backward<float>},
          {forward<double>, backward<double>},
          {forward<Bf16>, backward<Bf16>},
          {forward<F16>, backward<F16>}};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
