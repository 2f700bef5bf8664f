#include "ops/matmul/own_split.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

// Measured on one Ice Lake core at 2.8 GHz; they only rank candidates.
constexpr double kCallSeconds = 0.06e-6;
constexpr double kForkSeconds = 2.5e-6;            // waking the other threads
constexpr double kWorthForking = 10e-6;            // one thread's time
constexpr double kDotBytesPerSecond = 120e9;       // rows in the first caches
constexpr std::int64_t kDirectBytes = 256 * 1024;  // of B, swept row by row
constexpr std::int64_t kDirectRows = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

ProductShape transposed(const ProductShape& shape) {
  ProductShape swapped = shape;
  swapped.m = shape.n;
  swapped.n = shape.m;
  swapped.a_batch = shape.b_batch;
  swapped.a_row = shape.b_col;
  swapped.a_col = shape.b_row;
  swapped.b_batch = shape.a_batch;
  swapped.b_row = shape.a_col;
  swapped.b_col = shape.a_row;
  return swapped;
}

void choose_mode(OwnPlan& plan, const OwnMachine& machine) {
  ProductShape& shape = plan.shape;
  if (machine.packed_only) {
    plan.mode = OwnMode::packed;
    return;
  }
  const bool column_result = shape.n == 1 && shape.a_row == 1 && shape.m > 1;
  const bool row_result =
      shape.m == 1 && shape.b_col != 1 && shape.b_row == 1 && shape.k > 1;
  if (column_result || row_result) {
    plan.swapped = true;
    plan.one_bias = column_result;
    shape = transposed(shape);
  } else {
    plan.one_bias = shape.n == 1;
  }
  const std::int64_t b_bytes = shape.k * shape.n * machine.element_bytes;
  if (shape.n == 1 && shape.a_col == 1) {
    plan.mode = OwnMode::dot;
  } else if (shape.b_col == 1 && (shape.a_row == 1 || shape.a_col == 1) &&
             (shape.m <= kDirectRows || b_bytes <= kDirectBytes)) {
    plan.mode = OwnMode::direct;
  } else {
    plan.mode = OwnMode::packed;
  }
}

double one_thread_seconds(const OwnPlan& plan, const OwnMachine& machine) {
  const ProductShape& shape = plan.shape;
  const auto size = [](std::int64_t value) {
    return static_cast<double>(value);
  };
  const double products = size(shape.batch);
  if (plan.mode == OwnMode::dot) {
    const double bytes = size(shape.m) * size(shape.k + 8 * machine.lanes) *
                         size(machine.element_bytes);
    return kCallSeconds + products * bytes / kDotBytesPerSecond;
  }
  const std::int64_t vectors = ceil_div(shape.n, machine.lanes);
  double rate = machine.flops_per_second;
  if (vectors == 1) rate *= 0.5;  // bound by loads of A
  if (plan.mode == OwnMode::packed) rate *= 0.65;
  const double flops =
      2 * size(shape.m) * size(vectors * machine.lanes) * size(shape.k);
  const double stores = size(shape.m) * size(vectors) * 1.5e-9;
  return kCallSeconds + products * (flops / rate + stores);
}

// The grid whose largest tile is smallest; fewer rows of tiles on a tie where
// B is the larger operand, since each row of tiles reads all of B.
void choose_grid(OwnPlan& plan, const OwnMachine& machine, int threads) {
  const ProductShape& shape = plan.shape;
  if (shape.batch >= threads && plan.mode != OwnMode::packed) {
    plan.batch_tiles = threads;
    return;
  }
  const std::int64_t row_units = ceil_div(shape.m, machine.micro_rows);
  const std::int64_t column_units = ceil_div(shape.n, machine.lanes);
  double best = 0;
  for (std::int64_t rows = 1; rows <= threads; ++rows) {
    const std::int64_t columns = threads / rows;
    if (rows > row_units || columns > column_units) continue;
    if (plan.mode == OwnMode::dot && columns > 1) continue;
    const auto tile_rows =
        static_cast<double>(ceil_div(row_units, rows) * machine.micro_rows);
    const auto tile_columns =
        static_cast<double>(ceil_div(column_units, columns) * machine.lanes);
    const double price =
        tile_rows * tile_columns + 2 * (tile_rows + tile_columns);
    if (best == 0 || price < best) {
      best = price;
      plan.row_tiles = rows;
      plan.column_tiles = columns;
    }
  }
}

}  // namespace

Span part_of(std::int64_t total, std::int64_t step, std::int64_t parts,
             std::int64_t index) {
  const std::int64_t units = ceil_div(total, step);
  const std::int64_t begin = std::min(total, units * index / parts * step);
  const std::int64_t end = std::min(total, units * (index + 1) / parts * step);
  return {begin, end - begin};
}

OwnPlan plan_own_product(const ProductShape& shape, const OwnMachine& machine,
                         int threads) {
  OwnPlan plan;
  plan.shape = shape;
  choose_mode(plan, machine);
  plan.seconds = one_thread_seconds(plan, machine);
  if (threads > 1 && plan.seconds > kWorthForking) {
    choose_grid(plan, machine, threads);
    if (plan.tiles() > 1) {
      plan.seconds =
          kForkSeconds + plan.seconds / static_cast<double>(plan.tiles());
    }
  }
  if (plan.mode == OwnMode::packed) {
    const std::int64_t columns =
        ceil_div(std::min(plan.shape.n, kPackedColumns),
                 machine.micro_columns) *
        machine.micro_columns;
    const std::int64_t rows =
        ceil_div(std::min(plan.shape.m, kPackedRows), machine.micro_rows) *
        machine.micro_rows;
    const std::int64_t depth = std::min(plan.shape.k, kPackedDepth);
    plan.scratch_bytes =
        (columns + rows * plan.tiles()) * depth * machine.element_bytes;
  }
  return plan;
}

}  // namespace plimsoll::ops
