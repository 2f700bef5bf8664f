#include <algorithm>
#include <type_traits>

#include "ops/indexing/indexing_cpu.h"
#include "ops/indexing/ranged_kernel.h"
#include "ops/indexing/stored.h"
#include "ops/movement/axis_of.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kColumns = 512;

// The first of the largest of a row; the first NaN where there is one.
template <class T>
std::int64_t first_largest(const T* x, std::int64_t n) {
  auto best = loaded(x[0]);
  std::int64_t at = 0;
  for (std::int64_t i = 1; i < n && best == best; i += kBlock) {
    // Most blocks have nothing larger: that is asked without a branch.
    const std::int64_t end = std::min(n, i + kBlock);
    int larger = 0;
    for (std::int64_t j = i; j < end; ++j) larger |= !(loaded(x[j]) <= best);
    if (larger == 0) continue;
    for (std::int64_t j = i; j < end && best == best; ++j) {
      const auto next = loaded(x[j]);
      if (next <= best) continue;
      best = next;
      at = j;
    }
  }
  return at;
}

// The same for `width` columns, at most kColumns, whose rows lie `stride`
// apart. Places are of the values' width, so that both fit one vector.
template <class T>
void largest_of_columns(const T* x, std::int64_t n, std::int64_t stride,
                        std::int64_t width, std::int64_t* to) {
  using Value = decltype(loaded(x[0]));
  using Place =
      std::conditional_t<sizeof(Value) == 8, std::int64_t, std::int32_t>;
  Value best[kColumns];
  Place at[kColumns];
  for (std::int64_t j = 0; j < width; ++j) {
    best[j] = loaded(x[j]);
    at[j] = 0;
  }
  for (std::int64_t row = 1; row < n; ++row) {
    x += stride;
    const auto place = static_cast<Place>(row);
    for (std::int64_t j = 0; j < width; ++j) {
      const Value next = loaded(x[j]);
      const bool takes = !(next <= best[j]) & (best[j] == best[j]);
      best[j] = takes ? next : best[j];
      at[j] = takes ? place : at[j];
    }
  }
  std::copy_n(at, width, to);
}

template <class T>
void run_range(const AroundAxis& a, const LaunchArgs& args, std::int64_t begin,
               std::int64_t end) {
  const T* x = static_cast<const T*>(args.inputs[0]);
  auto* to = static_cast<std::int64_t*>(args.outputs[0]);
  while (begin < end) {
    const std::int64_t plane = begin / a.inner;
    const std::int64_t column = begin % a.inner;
    const T* from = x + plane * a.extent * a.inner + column;
    const std::int64_t width =
        std::min({kColumns, a.inner - column, end - begin});
    if (a.inner == 1) {
      to[begin] = first_largest(from, a.extent);
    } else {
      largest_of_columns(from, a.extent, a.inner, width, to + begin);
    }
    begin += width;
  }
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  return std::vector{
      ranged_candidate("argmax", cost_bytes(query), 4e9, threads)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const Shape& shape = query.inputs[0].shape;
  const AroundAxis around = around_axis(
      shape, *axis_of(shape.rank(), query.attrs->get<std::int64_t>("axis")));
  return with_stored(query.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto run = [around](const LaunchArgs& args, std::int64_t begin,
                              std::int64_t end) {
      run_range<T>(around, args, begin, end);
    };
    return make_ranged(around.outer * around.inner, cost_bytes(query), run,
                       threads);
  });
}

}  // namespace

CpuKernels argmax_cpu() { return {"argmax", candidates, create}; }

}  // namespace plimsoll::ops
