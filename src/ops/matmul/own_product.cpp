#include "ops/matmul/own_product.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/cpu/compute_threads.h"
#include "ops/matmul/own_split.h"
#include "ops/matmul/small_gemm.h"

namespace plimsoll::ops {
namespace {

template <class T>
OwnMachine machine_for() {
  const GemmTable<T>& table = gemm_table<T>();
  OwnMachine machine;
  machine.element_bytes = sizeof(T);
  machine.lanes = table.lanes;
  machine.micro_rows = table.micro_rows;
  machine.micro_columns = table.micro_columns;
  machine.flops_per_second = own_flops_per_second() * 4 / sizeof(T);
  return machine;
}

OwnPlan plan_for(const ProductShape& shape, DType dtype, int threads) {
  return plan_own_product(
      shape, dtype == DType::f64 ? machine_for<double>() : machine_for<float>(),
      threads);
}

std::string_view mode_name(OwnMode mode) {
  switch (mode) {
    case OwnMode::dot:
      return "dot";
    case OwnMode::packed:
      return "packed";
    default:
      return "direct";
  }
}

std::string name_of(const OwnPlan& plan) {
  return fmt::format("matmul:own:{}:{}", mode_name(plan.mode),
                     ops::name_of(best_isa()));
}

template <class T>
class OwnProduct final : public Kernel {
 public:
  OwnProduct(const OwnPlan& plan, ComputeThreads& threads)
      : plan_(plan), table_(gemm_table<T>()), threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const std::size_t first = plan_.swapped ? 1 : 0;
    a_ = static_cast<const T*>(args.inputs[first]);
    b_ = static_cast<const T*>(args.inputs[1 - first]);
    bias_ = plan_.shape.bias ? static_cast<const T*>(args.inputs[2]) : nullptr;
    c_ = static_cast<T*>(args.outputs[0]);
    if (plan_.mode == OwnMode::packed) {
      packed(static_cast<T*>(args.scratch));
    } else {
      auto tile = [this](std::int64_t index) { run_tile(index); };
      threads_.for_each_chunk(plan_.tiles(), tile);
    }
    return LaunchStatus::ok;
  }

 private:
  // C of a swapped product is one row or one column, dense either way.
  std::int64_t c_row() const {
    return plan_.mode == OwnMode::dot ? 1 : plan_.shape.n;
  }

  GemmArgs<T> product(std::int64_t batch) const {
    const ProductShape& shape = plan_.shape;
    GemmArgs<T> args;
    args.m = shape.m;
    args.n = shape.n;
    args.k = shape.k;
    args.a = a_ + batch * shape.a_batch;
    args.a_row = shape.a_row;
    args.a_col = shape.a_col;
    args.b = b_ + batch * shape.b_batch;
    args.b_row = shape.b_row;
    args.c = c_ + batch * shape.m * shape.n;
    args.c_row = c_row();
    args.bias = bias_;
    args.one_bias = plan_.one_bias;
    args.relu = shape.relu;
    return args;
  }

  void narrow(GemmArgs<T>& args, Span rows, Span columns) const {
    args.m = rows.size;
    args.n = columns.size;
    args.a += rows.begin * args.a_row;
    args.b += columns.begin;
    args.c += rows.begin * args.c_row + columns.begin;
    if (args.bias && !args.one_bias) {
      args.bias += plan_.mode == OwnMode::dot ? rows.begin : columns.begin;
    }
  }

  void run_tile(std::int64_t index) const {
    const std::int64_t grid = plan_.row_tiles * plan_.column_tiles;
    const Span batches =
        part_of(plan_.shape.batch, 1, plan_.batch_tiles, index / grid);
    const std::int64_t cell = index % grid;
    const Span rows = part_of(plan_.shape.m, table_.micro_rows, plan_.row_tiles,
                              cell / plan_.column_tiles);
    const Span columns = part_of(plan_.shape.n, table_.lanes,
                                 plan_.column_tiles, cell % plan_.column_tiles);
    for (std::int64_t i = 0; i < batches.size; ++i) {
      GemmArgs<T> args = product(batches.begin + i);
      narrow(args, rows, columns);
      if (plan_.mode == OwnMode::dot) {
        table_.rows_dot(args);
      } else {
        table_.direct(args);
      }
    }
  }

  // One block of B at a time is packed by all threads, then each multiplies
  // its tile of rows and columns with it.
  void packed(T* scratch) const {
    const ProductShape& shape = plan_.shape;
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
      for (std::int64_t n = 0; n < shape.n; n += kPackedColumns) {
        for (std::int64_t k = 0; k < shape.k; k += kPackedDepth) {
          block(batch, {n, std::min(kPackedColumns, shape.n - n)},
                {k, std::min(kPackedDepth, shape.k - k)}, scratch);
        }
      }
    }
  }

  void block(std::int64_t batch, Span columns, Span depth, T* scratch) const {
    const ProductShape& shape = plan_.shape;
    const GemmArgs<T> whole = product(batch);
    const T* b =
        whole.b + depth.begin * shape.b_row + columns.begin * shape.b_col;
    auto pack = [&](std::int64_t index) {
      const Span part =
          part_of(columns.size, table_.micro_columns, plan_.tiles(), index);
      table_.pack_b(b + part.begin * shape.b_col, shape.b_row, shape.b_col,
                    depth.size, part.size, scratch + part.begin * depth.size);
    };
    threads_.for_each_chunk(plan_.tiles(), pack);

    const std::int64_t width = (columns.size + table_.micro_columns - 1) /
                               table_.micro_columns * table_.micro_columns;
    auto multiply = [&](std::int64_t index) {
      const Span rows = part_of(shape.m, table_.micro_rows, plan_.row_tiles,
                                index / plan_.column_tiles);
      const Span part = part_of(columns.size, table_.micro_columns,
                                plan_.column_tiles, index % plan_.column_tiles);
      const std::int64_t a_rows =
          (std::min(shape.m, kPackedRows) + table_.micro_rows - 1) /
          table_.micro_rows * table_.micro_rows;
      T* a = scratch + width * depth.size + index * a_rows * depth.size;
      for (std::int64_t row = 0; row < rows.size; row += kPackedRows) {
        GemmArgs<T> args = whole;
        narrow(args, {rows.begin + row, std::min(kPackedRows, rows.size - row)},
               {columns.begin + part.begin, part.size});
        table_.pack_a(args.a + depth.begin * shape.a_col, shape.a_row,
                      shape.a_col, args.m, depth.size, a);
        args.a = a;
        args.b = scratch + part.begin * depth.size;
        args.k = depth.size;
        args.accumulate = depth.begin > 0;
        if (depth.begin + depth.size < shape.k) {
          args.bias = nullptr;
          args.relu = false;
        }
        table_.packed(args);
      }
    };
    threads_.for_each_chunk(plan_.tiles(), multiply);
  }

  OwnPlan plan_;
  const GemmTable<T>& table_;
  ComputeThreads& threads_;
  const T* a_ = nullptr;
  const T* b_ = nullptr;
  const T* bias_ = nullptr;
  T* c_ = nullptr;
};

}  // namespace

double own_flops_per_second() {
  switch (best_isa()) {
    case Isa::v4:
      return 165e9;
    case Isa::v3:
      return 90e9;
    default:
      return 12e9;
  }
}

std::vector<graph::KernelCandidate> own_candidates(const ProductShape& shape,
                                                   DType dtype, int threads) {
  if (!is_trainable(dtype)) return {};
  const OwnPlan plan = plan_for(shape, dtype, threads);
  graph::KernelCandidate candidate;
  candidate.name = name_of(plan);
  candidate.scratch_bytes = plan.scratch_bytes;
  candidate.seconds = plan.seconds;
  return {candidate};
}

Result<std::unique_ptr<Kernel>> make_own_product(
    const ProductShape& shape, DType dtype,
    const graph::KernelCandidate& candidate, ComputeThreads& threads) {
  const OwnPlan plan = plan_for(shape, dtype, threads.size());
  const std::string name = name_of(plan);
  if (candidate.name != name || !is_trainable(dtype)) {
    return Error{ErrorCode::unsupported,
                 fmt::format("the plan needs {}, this machine has {}",
                             candidate.name, name)};
  }
  if (dtype == DType::f64) {
    return std::unique_ptr<Kernel>(
        std::make_unique<OwnProduct<double>>(plan, threads));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<OwnProduct<float>>(plan, threads));
}

}  // namespace plimsoll::ops
