#include "ops/matmul/half_product.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/cpu/compute_threads.h"
#include "ops/matmul/own_product.h"
#include "ops/matmul/own_split.h"
#include "ops/matmul/small_gemm.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {
namespace {

// Rows whose sums are held in f32 until they are whole. B is packed again for
// each such block: long enough that this is little beside the products.
constexpr std::int64_t kSumRows = 480;
constexpr double kWidenSeconds = 0.4e-9;  // of an element, packing included

struct HalfPlan {
  OwnPlan own;  // of one block of rows
  ProductShape shape;
  std::int64_t rows = 0;     // of a block
  std::int64_t columns = 0;  // of a packed block, and `depth` of its products
  std::int64_t depth = 0;
  // Pieces of scratch, in floats from its start.
  std::int64_t b_stage = 0, a_panels = 0, a_stages = 0, sums = 0, bias = 0;
  std::int64_t floats = 0;
  double seconds = 0;
};

std::int64_t whole(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}

HalfPlan plan_of(const ProductShape& shape, ProductTypes types, int threads) {
  const GemmTable<float>& table = gemm_table<float>();
  OwnMachine machine;
  machine.lanes = table.lanes;
  machine.micro_rows = table.micro_rows;
  machine.micro_columns = table.micro_columns;
  machine.flops_per_second = own_flops_per_second();
  machine.packed_only = true;
  HalfPlan plan;
  plan.shape = shape;
  plan.rows = is_half(types.output) ? std::min(shape.m, kSumRows) : shape.m;
  ProductShape block = shape;
  block.m = plan.rows;
  plan.own = plan_own_product(block, machine, threads);
  plan.columns = std::min(shape.n, kPackedColumns);
  plan.depth = std::min(shape.k, kPackedDepth);

  const std::int64_t tiles = plan.own.tiles();
  const std::int64_t panel_rows =
      whole(std::min(plan.rows, kPackedRows), table.micro_rows);
  const std::int64_t panel_columns = whole(plan.columns, table.micro_columns);
  const auto take = [&](std::int64_t count) {
    const std::int64_t at = plan.floats;
    plan.floats += whole(count, 16);
    return at;
  };
  take(panel_columns * plan.depth);
  plan.b_stage = take(panel_columns * plan.depth);
  plan.a_panels = take(panel_rows * plan.depth * tiles);
  plan.a_stages = take(panel_rows * plan.depth * tiles);
  if (is_half(types.output)) {
    plan.sums = take(plan.rows * plan.columns);
    if (shape.bias) plan.bias = take(shape.n);
  }
  const auto size = [](std::int64_t value) {
    return static_cast<double>(value);
  };
  const double blocks =
      size(plan.rows == 0 ? 0 : (shape.m + plan.rows - 1) / plan.rows);
  const double widened =
      size(shape.batch) * size(shape.k) *
      (size(shape.m) * size((shape.n + kPackedColumns - 1) / kPackedColumns) +
       size(shape.n) * blocks);
  plan.seconds =
      plan.own.seconds * blocks + widened * kWidenSeconds / size(tiles);
  return plan;
}

std::string candidate_name() {
  return fmt::format("matmul:own:widened:{}", ops::name_of(best_isa()));
}

class HalfProduct final : public Kernel {
 public:
  HalfProduct(const HalfPlan& plan, ProductTypes types, ComputeThreads& threads)
      : plan_(plan),
        table_(gemm_table<float>()),
        widen_(widen_loop(types.operands)),
        narrow_(is_half(types.output) ? narrow_loop(types.output) : nullptr),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const ProductShape& shape = plan_.shape;
    scratch_ = static_cast<float*>(args.scratch);
    bias_ = nullptr;
    if (shape.bias && narrow_ != nullptr) {
      widen_(static_cast<const std::uint16_t*>(args.inputs[2]),
             scratch_ + plan_.bias, shape.n);
      bias_ = scratch_ + plan_.bias;
    } else if (shape.bias) {
      bias_ = static_cast<const float*>(args.inputs[2]);
    }
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
      a_ = static_cast<const std::uint16_t*>(args.inputs[0]) +
           batch * shape.a_batch;
      b_ = static_cast<const std::uint16_t*>(args.inputs[1]) +
           batch * shape.b_batch;
      for (std::int64_t row = 0; row < shape.m; row += plan_.rows) {
        const Span rows{row, std::min(plan_.rows, shape.m - row)};
        for (std::int64_t n = 0; n < shape.n; n += kPackedColumns) {
          const Span columns{n, std::min(kPackedColumns, shape.n - n)};
          make(batch, rows, columns, args.outputs[0]);
        }
      }
    }
    return LaunchStatus::ok;
  }

 private:
  // A block of C: summed where it belongs, or in f32 and narrowed then.
  void make(std::int64_t batch, Span rows, Span columns, void* out) {
    const std::int64_t n = plan_.shape.n;
    const std::int64_t at =
        (batch * plan_.shape.m + rows.begin) * n + columns.begin;
    c_ = narrow_ != nullptr ? scratch_ + plan_.sums
                            : static_cast<float*>(out) + at;
    c_row_ = narrow_ != nullptr ? columns.size : n;
    std::int64_t k = 0;
    do {
      const Span depth{k, std::min(kPackedDepth, plan_.shape.k - k)};
      pack_b(columns, depth);
      multiply(rows, columns, depth);
      k += kPackedDepth;
    } while (k < plan_.shape.k);
    if (narrow_ == nullptr) return;
    auto* stored = static_cast<std::uint16_t*>(out) + at;
    auto part = [&](std::int64_t index) {
      const Span some = part_of(rows.size, 1, plan_.own.tiles(), index);
      for (std::int64_t r = some.begin; r < some.begin + some.size; ++r) {
        narrow_(c_ + r * c_row_, stored + r * n, columns.size);
      }
    };
    threads_.for_each_chunk(plan_.own.tiles(), part);
  }

  // `lines` runs of `length` elements each, side by side in `to`.
  void widen(const std::uint16_t* from, std::int64_t apart, std::int64_t lines,
             std::int64_t length, float* to) const {
    for (std::int64_t i = 0; i < lines; ++i) {
      widen_(from + i * apart, to + i * length, length);
    }
  }

  void pack_b(Span columns, Span depth) const {
    const ProductShape& shape = plan_.shape;
    auto pack = [&](std::int64_t index) {
      const Span part =
          part_of(columns.size, table_.micro_columns, plan_.own.tiles(), index);
      const std::uint16_t* from = b_ + depth.begin * shape.b_row +
                                  (columns.begin + part.begin) * shape.b_col;
      float* stage = scratch_ + plan_.b_stage + part.begin * depth.size;
      float* panel = scratch_ + part.begin * depth.size;
      if (shape.b_col == 1) {
        widen(from, shape.b_row, depth.size, part.size, stage);
        table_.pack_b(stage, part.size, 1, depth.size, part.size, panel);
      } else {
        widen(from, shape.b_col, part.size, depth.size, stage);
        table_.pack_b(stage, 1, depth.size, depth.size, part.size, panel);
      }
    };
    threads_.for_each_chunk(plan_.own.tiles(), pack);
  }

  void pack_a(Span rows, Span depth, float* stage, float* panel) const {
    const ProductShape& shape = plan_.shape;
    const std::uint16_t* from =
        a_ + rows.begin * shape.a_row + depth.begin * shape.a_col;
    if (shape.a_col == 1) {
      widen(from, shape.a_row, rows.size, depth.size, stage);
      table_.pack_a(stage, depth.size, 1, rows.size, depth.size, panel);
    } else {
      widen(from, shape.a_col, depth.size, rows.size, stage);
      table_.pack_a(stage, 1, rows.size, rows.size, depth.size, panel);
    }
  }

  void multiply(Span rows, Span columns, Span depth) const {
    const OwnPlan& own = plan_.own;
    const std::int64_t panel = (plan_.a_stages - plan_.a_panels) / own.tiles();
    const bool last = depth.begin + depth.size == plan_.shape.k;
    auto tile = [&](std::int64_t index) {
      const Span part = part_of(rows.size, table_.micro_rows, own.row_tiles,
                                index / own.column_tiles);
      const Span strip = part_of(columns.size, table_.micro_columns,
                                 own.column_tiles, index % own.column_tiles);
      float* a = scratch_ + plan_.a_panels + index * panel;
      float* stage = scratch_ + plan_.a_stages + index * panel;
      for (std::int64_t r = 0; r < part.size; r += kPackedRows) {
        const Span some{part.begin + r, std::min(kPackedRows, part.size - r)};
        pack_a({rows.begin + some.begin, some.size}, depth, stage, a);
        GemmArgs<float> args;
        args.m = some.size;
        args.n = strip.size;
        args.k = depth.size;
        args.a = a;
        args.b = scratch_ + strip.begin * depth.size;
        args.c = c_ + some.begin * c_row_ + strip.begin;
        args.c_row = c_row_;
        args.accumulate = depth.begin > 0;
        if (last && bias_ != nullptr) {
          args.bias = bias_ + columns.begin + strip.begin;
        }
        args.relu = last && plan_.shape.relu;
        table_.packed(args);
      }
    };
    threads_.for_each_chunk(own.tiles(), tile);
  }

  const HalfPlan plan_;
  const GemmTable<float>& table_;
  const WidenLoop widen_;
  const NarrowLoop narrow_;  // null: the output is f32
  ComputeThreads& threads_;
  float* scratch_ = nullptr;
  const std::uint16_t* a_ = nullptr;
  const std::uint16_t* b_ = nullptr;
  const float* bias_ = nullptr;
  float* c_ = nullptr;
  std::int64_t c_row_ = 0;
};

}  // namespace

std::vector<graph::KernelCandidate> half_candidates(const ProductShape& shape,
                                                    ProductTypes types,
                                                    int threads) {
  if (!is_half(types.operands)) return {};
  const HalfPlan plan = plan_of(shape, types, threads);
  graph::KernelCandidate candidate;
  candidate.name = candidate_name();
  candidate.scratch_bytes = plan.floats * 4;
  candidate.seconds = plan.seconds;
  return {candidate};
}

Result<std::unique_ptr<Kernel>> make_half_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads) {
  const HalfPlan plan = plan_of(shape, types, threads.size());
  if (candidate.name != candidate_name()) {
    return Error{ErrorCode::unsupported,
                 fmt::format("the plan needs {}, this machine has {}",
                             candidate.name, candidate_name())};
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<HalfProduct>(plan, types, threads));
}

}  // namespace plimsoll::ops
