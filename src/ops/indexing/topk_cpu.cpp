#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/indexing/indexing_cpu.h"
#include "ops/indexing/ranged_kernel.h"
#include "ops/indexing/stored.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

constexpr std::int64_t kBlock = 64;

// Whether (a, i) comes before (b, j) in the result.
template <class V>
bool before(V a, std::int64_t i, V b, std::int64_t j) {
  const bool a_nan = a != a;
  const bool b_nan = b != b;
  if (a_nan || b_nan) return a_nan && (!b_nan || i < j);
  return a > b || (a == b && i < j);
}

// A heap of the best so far, in the place of the results; the first is the
// last in order, which the next better one replaces.
template <class T>
struct Heap {
  T* values;
  std::int64_t* indices;

  bool ordered(std::int64_t a, std::int64_t b) const {
    return before(loaded(values[a]), indices[a], loaded(values[b]), indices[b]);
  }
  void swap(std::int64_t a, std::int64_t b) {
    std::swap(values[a], values[b]);
    std::swap(indices[a], indices[b]);
  }
  void sink(std::int64_t at, std::int64_t size) {
    for (;;) {
      std::int64_t child = 2 * at + 1;
      if (child >= size) return;
      if (child + 1 < size && ordered(child, child + 1)) ++child;
      if (!ordered(at, child)) return;
      swap(at, child);
      at = child;
    }
  }
};

template <class T>
void largest(const T* x, std::int64_t n, std::int64_t k, Heap<T> heap) {
  for (std::int64_t i = 0; i < k; ++i) {
    heap.values[i] = x[i];
    heap.indices[i] = i;
  }
  for (std::int64_t i = k / 2; i-- > 0;) heap.sink(i, k);
  for (std::int64_t i = k; i < n; i += kBlock) {
    // Most blocks have nothing that counts: that is asked without a branch.
    // What equals the last one comes after it.
    const std::int64_t end = std::min(n, i + kBlock);
    const auto last = loaded(heap.values[0]);
    int larger = 0;
    for (std::int64_t j = i; j < end; ++j) larger |= !(loaded(x[j]) <= last);
    if (larger == 0) continue;
    for (std::int64_t j = i; j < end; ++j) {
      if (!before(loaded(x[j]), j, loaded(heap.values[0]), heap.indices[0])) {
        continue;
      }
      heap.values[0] = x[j];
      heap.indices[0] = j;
      heap.sink(0, k);
    }
  }
  for (std::int64_t size = k - 1; size > 0; --size) {
    heap.swap(0, size);
    heap.sink(0, size);
  }
}

std::int64_t rows_of(const Shape& shape) {
  const std::int64_t width = shape.extent(-1);
  return width == 0 ? 0 : shape.elements() / width;
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  return std::vector{ranged_candidate(std::string(query.op->name),
                                      cost_bytes(query), 2.5e9, threads)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const std::int64_t n = query.inputs[0].shape.extent(-1);
  const std::int64_t k = query.outputs[0].shape.extent(-1);
  return with_stored(query.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto run = [n, k](const LaunchArgs& args, std::int64_t begin,
                            std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        largest<T>(static_cast<const T*>(args.inputs[0]) + row * n, n, k,
                   {static_cast<T*>(args.outputs[0]) + row * k,
                    static_cast<std::int64_t*>(args.outputs[1]) + row * k});
      }
    };
    return make_ranged(rows_of(query.inputs[0].shape), cost_bytes(query), run,
                       threads);
  });
}

Result<std::unique_ptr<Kernel>> create_grad(const KernelQuery& query,
                                            const KernelCandidate&,
                                            ComputeThreads& threads) {
  const std::int64_t k = query.inputs[0].shape.extent(-1);
  const std::int64_t n = query.outputs[0].shape.extent(-1);
  return with_word(size_of(query.inputs[0].dtype), [&](auto zero) {
    using T = decltype(zero);
    const auto run = [n, k](const LaunchArgs& args, std::int64_t begin,
                            std::int64_t end) {
      T* to = static_cast<T*>(args.outputs[0]) + begin * n;
      std::memset(to, 0,
                  static_cast<std::size_t>((end - begin) * n) * sizeof(T));
      for (std::int64_t i = begin * k; i < end * k; ++i) {
        const std::int64_t at =
            static_cast<const std::int64_t*>(args.inputs[1])[i];
        if (at < 0 || at >= n) continue;
        to[(i / k - begin) * n + at] = static_cast<const T*>(args.inputs[0])[i];
      }
    };
    return make_ranged(rows_of(query.outputs[0].shape), cost_bytes(query), run,
                       threads);
  });
}

}  // namespace

CpuKernels topk_cpu() { return {"topk", candidates, create}; }
CpuKernels topk_grad_cpu() { return {"topk_grad", candidates, create_grad}; }

}  // namespace plimsoll::ops
