#include <cstring>

#include "ops/indexing/gather.h"
#include "ops/indexing/indexing_cpu.h"
#include "ops/indexing/ranged_kernel.h"
#include "ops/indexing/stored.h"
#include "ops/movement/stream_copy.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

struct Job {
  Gathered shape;
  DType index;
  bool from_end = true;
  std::uint64_t outside = 0;
  bool streamed = false;
};

// Rows of the output from `begin` to `end`. A length that the compiler knows
// is copied without a call.
template <class T, std::int64_t kInner>
void copy_rows(const Job& job, const LaunchArgs& args, std::int64_t begin,
               std::int64_t end) {
  const std::int64_t inner = kInner > 0 ? kInner : job.shape.inner;
  const auto bytes = static_cast<std::size_t>(inner) * sizeof(T);
  const T* table = static_cast<const T*>(args.inputs[0]);
  T* to = static_cast<T*>(args.outputs[0]) + begin * inner;
  const T outside = static_cast<T>(job.outside);
  std::int64_t number = begin % job.shape.indices;
  const T* plane = table + begin / job.shape.indices * job.shape.rows * inner;
  for (std::int64_t i = begin; i < end; ++i, to += inner) {
    const std::int64_t row = row_of(index_at(args.inputs[1], job.index, number),
                                    job.shape.rows, job.from_end);
    if (row < 0) {
      for (std::int64_t j = 0; j < inner; ++j) to[j] = outside;
    } else {
      const T* from = plane + row * inner;
      if (kInner == 0 && job.streamed) {
        stream_copy(reinterpret_cast<char*>(to),
                    reinterpret_cast<const char*>(from),
                    static_cast<std::int64_t>(bytes));
      } else {
        std::memcpy(to, from, bytes);
      }
    }
    if (++number == job.shape.indices) {
      number = 0;
      plane += job.shape.rows * inner;
    }
  }
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  const std::int64_t row =
      gathered(query.inputs[0], query.inputs[1], *query.attrs).inner *
      size_of(query.inputs[0].dtype);
  return std::vector{ranged_candidate("gather", cost_bytes(query),
                                      row >= 256 ? 16e9 : 8e9, threads)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const DType dtype = query.inputs[0].dtype;
  Job job{gathered(query.inputs[0], query.inputs[1], *query.attrs),
          query.inputs[1].dtype, counts_from_end(*query.attrs),
          outside_bits(dtype, *query.attrs), false};
  job.streamed =
      streams(query.outputs[0].bytes(), job.shape.inner * size_of(dtype));
  return with_word(size_of(dtype), [&](auto zero) {
    using T = decltype(zero);
    auto* rows = copy_rows<T, 0>;
    if (job.shape.inner == 1) rows = copy_rows<T, 1>;
    if (job.shape.inner == 2) rows = copy_rows<T, 2>;
    if (job.shape.inner == 4) rows = copy_rows<T, 4>;
    const auto run = [job, rows](const LaunchArgs& args, std::int64_t begin,
                                 std::int64_t end) {
      rows(job, args, begin, end);
      finish_streams();
    };
    const std::int64_t count =
        job.shape.inner > 0 ? job.shape.outer * job.shape.indices : 0;
    return make_ranged(count, cost_bytes(query), run, threads);
  });
}

}  // namespace

CpuKernels gather_cpu() { return {"gather", candidates, create}; }

}  // namespace plimsoll::ops
