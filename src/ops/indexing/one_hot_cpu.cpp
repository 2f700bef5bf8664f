#include <cstring>

#include "ops/indexing/indexing_cpu.h"
#include "ops/indexing/ranged_kernel.h"
#include "ops/indexing/stored.h"
#include "ops/movement/element_bits.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  return std::vector{
      ranged_candidate("one_hot", cost_bytes(query), 8e9, threads)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const DType dtype = query.outputs[0].dtype;
  const DType index = query.inputs[0].dtype;
  const std::int64_t depth = query.outputs[0].shape.extent(-1);
  PLIMSOLL_ASSIGN(const std::uint64_t bits, element_bits(dtype, 1));
  return with_word(size_of(dtype), [&](auto zero) {
    using T = decltype(zero);
    const auto run = [index, depth, one = static_cast<T>(bits)](
                         const LaunchArgs& args, std::int64_t begin,
                         std::int64_t end) {
      T* to = static_cast<T*>(args.outputs[0]);
      std::memset(to + begin * depth, 0,
                  static_cast<std::size_t>((end - begin) * depth) * sizeof(T));
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = index_at(args.inputs[0], index, i);
        if (at >= 0 && at < depth) to[i * depth + at] = one;
      }
    };
    return make_ranged(query.inputs[0].shape.elements(), cost_bytes(query), run,
                       threads);
  });
}

}  // namespace

CpuKernels one_hot_cpu() { return {"one_hot", candidates, create}; }

}  // namespace plimsoll::ops
