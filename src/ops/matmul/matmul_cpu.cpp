#include "ops/matmul/matmul_cpu.h"

#include <algorithm>

#include "device/cpu/compute_threads.h"
#include "ops/matmul/empty_product.h"
#include "ops/matmul/half_product.h"
#include "ops/matmul/narrow_product.h"
#include "ops/matmul/own_product.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

ProductShape shape_of(const KernelQuery& query) {
  return product_shape(query.inputs, query.outputs, *query.attrs);
}

ProductTypes types_of(const KernelQuery& query) {
  return {query.inputs[0].dtype, query.outputs[0].dtype};
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  return product_candidates(shape_of(query), types_of(query), threads);
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate& candidate,
                                       ComputeThreads& threads) {
  return make_product(shape_of(query), types_of(query), candidate, threads);
}

constexpr CpuKernels kKernels[] = {{"matmul", candidates, create}};

}  // namespace

Result<std::vector<KernelCandidate>> product_candidates(
    const ProductShape& shape, ProductTypes types, ComputeThreads& threads) {
  // Others leave the result as it is where there is nothing to sum.
  if (shape.k == 0) {
    return std::vector{KernelCandidate{.name = std::string(kEmptyProduct)}};
  }
  std::vector<KernelCandidate> all =
      own_candidates(shape, types.operands, threads.size());
  const auto widened = half_candidates(shape, types, threads.size());
  all.insert(all.end(), widened.begin(), widened.end());
  const auto narrow = narrow_candidates(shape, types, threads.size());
  all.insert(all.end(), narrow.begin(), narrow.end());
  if (types.operands != DType::f64) {
    PLIMSOLL_ASSIGN(auto library, onednn_candidates(shape, types, threads));
    all.insert(all.end(), library.begin(), library.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const KernelCandidate& a, const KernelCandidate& b) {
                     return a.seconds < b.seconds;
                   });
  return all;
}

Result<std::unique_ptr<Kernel>> make_product(const ProductShape& shape,
                                             ProductTypes types,
                                             const KernelCandidate& candidate,
                                             ComputeThreads& threads) {
  if (candidate.name == kEmptyProduct) return make_empty_product(shape, types);
  if (candidate.name.starts_with("matmul:onednn:")) {
    return make_onednn_product(shape, types, candidate, threads);
  }
  if (candidate.name.starts_with("matmul:own:widened:")) {
    return make_half_product(shape, types, candidate, threads);
  }
  if (candidate.name.starts_with("matmul:own:narrow:")) {
    return make_narrow_product(shape, types, candidate, threads);
  }
  return make_own_product(shape, types.operands, candidate, threads);
}

std::span<const CpuKernels> matmul_cpu_kernels() { return kKernels; }

}  // namespace plimsoll::ops
