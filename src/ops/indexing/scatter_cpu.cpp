#include <cstring>

#include "ops/embedding/embedding_loops.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/indexing_cpu.h"
#include "ops/indexing/ranged_kernel.h"
#include "ops/indexing/stored.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

struct Range {
  std::int64_t begin, end;
};

struct Job {
  Gathered shape;
  bool onto = false;  // rows are added to a third operand, perhaps in place
  DType index;
  bool from_end = true;
  // What threads share: each sum is one thread's alone, in the order of the
  // indices, however the work is cut.
  enum class Cut { outer, columns, rows } cut = Cut::rows;
};

template <class T>
auto* row_adder() {
  if constexpr (sizeof(T) == 8) {
    return pick_row_tables().f64.add;
  } else {
    return pick_row_tables().f32.add;
  }
}

template <class T>
void begin_row(const T* base, std::int64_t at, std::int64_t width, T* to) {
  const auto bytes = static_cast<std::size_t>(width) * sizeof(T);
  if (base) {
    std::memcpy(to + at, base + at, bytes);
  } else {
    std::memset(to + at, 0, bytes);
  }
}

template <class T>
void add_rows(const Job& job, const LaunchArgs& args, Range outer, Range rows,
              Range columns) {
  const Gathered& shape = job.shape;
  const std::int64_t width = columns.end - columns.begin;
  auto* const add = row_adder<T>();
  for (std::int64_t o = outer.begin; o < outer.end; ++o) {
    const T* from = static_cast<const T*>(args.inputs[0]) +
                    o * shape.indices * shape.inner + columns.begin;
    T* to = static_cast<T*>(args.outputs[0]) + o * shape.rows * shape.inner +
            columns.begin;
    const T* base = job.onto ? static_cast<const T*>(args.inputs[2]) +
                                   (to - static_cast<T*>(args.outputs[0]))
                             : nullptr;
    if (base != to) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        begin_row(base, row * shape.inner, width, to);
      }
    }
    for (std::int64_t i = 0; i < shape.indices; ++i) {
      const std::int64_t row = row_of(index_at(args.inputs[1], job.index, i),
                                      shape.rows, job.from_end);
      if (row < rows.begin || row >= rows.end) continue;
      add(from + i * shape.inner, width, to + row * shape.inner);
    }
  }
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  if (!is_trainable(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  return std::vector{
      ranged_candidate("scatter_add", cost_bytes(query), 8e9, threads)};
}

template <class T>
std::unique_ptr<Kernel> make(const KernelQuery& query,
                             ComputeThreads& threads) {
  Job job{gathered(query.outputs[0], query.inputs[1], *query.attrs),
          query.inputs.size() == 3, query.inputs[1].dtype,
          counts_from_end(*query.attrs)};
  const Gathered shape = job.shape;
  const std::int64_t chunks =
      movement_chunks(cost_bytes(query), threads.size());
  std::int64_t count = shape.rows;
  if (shape.outer >= chunks) {
    job.cut = Job::Cut::outer;
    count = shape.outer;
  } else if (shape.inner >= 64 * chunks) {
    job.cut = Job::Cut::columns;
    count = shape.inner;
  }
  const auto run = [job](const LaunchArgs& args, std::int64_t begin,
                         std::int64_t end) {
    Range outer{0, job.shape.outer};
    Range rows{0, job.shape.rows};
    Range columns{0, job.shape.inner};
    (job.cut == Job::Cut::outer     ? outer
     : job.cut == Job::Cut::columns ? columns
                                    : rows) = Range{begin, end};
    add_rows<T>(job, args, outer, rows, columns);
  };
  return make_ranged(count, cost_bytes(query), run, threads);
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  return query.inputs[0].dtype == DType::f32 ? make<float>(query, threads)
                                             : make<double>(query, threads);
}

}  // namespace

CpuKernels scatter_add_cpu() { return {"scatter_add", candidates, create}; }

}  // namespace plimsoll::ops
