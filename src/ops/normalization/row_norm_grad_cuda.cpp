// Layer, rms and group normalization, backward: a team of threads has all
// elements of a statistic.
#include <fmt/core.h>

#include <algorithm>

#include "ops/normalization/column_sums_cuda.h"
#include "ops/normalization/norm_codes_cuda.h"
#include "ops/normalization/norm_library_cuda.h"
#include "ops/normalization/row_places_cuda.h"
#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

constexpr std::string_view kRow = R"(    const I base = $base;
    const C mean = $mean, deviation = $deviation;
    C level = 0, slope = 0;
$each {
      const Vec<T, $V> dy = $dy;
      const Vec<T, $V> x = $x;
$parameters#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const C normal = mul(sub((C)load(x.v[k]), mean), deviation);
        const C flow = load(dy.v[k]);
        const C scaled = mul(flow, $gamma);
        level = add(level, scaled);
        slope = mul_add(scaled, normal, slope);
$sum      }
    }
$join    slope = div(slope, (C)$n);
$each {
      Vec<T, $V> dy = $dy;
      const Vec<T, $V> x = $x;
$parameters#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const C normal = mul(sub((C)load(x.v[k]), mean), deviation);
        const C scaled = mul((C)load(dy.v[k]), $gamma);
        dy.v[k] = store<T>(
            mul(sub(sub(scaled, level), mul(normal, slope)), deviation));
      }
      write<$V>(out0 + base + $at, dy);
    }
)";

constexpr std::string_view kJoinBoth =
    R"(    Threads::join_both<Sum>(level, slope);
    level = div(level, (C)$n);
)";
constexpr std::string_view kJoinSlope = R"(    level = 0;
    slope = Threads::join<Sum>(slope);
)";

// What a thread has of a row.
constexpr std::string_view kHeld = R"(  struct Held {
    Vec<T, $V> dy[$rounds], x[$rounds];
    C mean, deviation;
  };
  const auto hold = [&](I row, I n) {
    Held held;
    const I base = $base;
$each {
      held.dy[i] = read<$V>(in0 + base + $at);
      held.x[i] = read<$V>(in1 + base + $at);
    }
    if (n > 0) {
      held.mean = $read_mean;
      held.deviation = $read_deviation;
    }
    return held;
  };
)";

constexpr std::string_view kThis = R"(    const Held held = hold(row, n);
)";

// Teams that wait for each other read the next row while one is made. What was
// read is copied first: with two places in turn this gained nothing.
constexpr std::string_view kFirst =
    R"(    const I start = task * $part + threadIdx.x / $team;
    Held next = hold(start, start < end ? $channels : 0);
)";
constexpr std::string_view kNext = R"(    const Held held = next;
    const I after = row + 512 / $team;
    next = hold(after, after < end ? $channels : 0);
)";

constexpr std::string_view kSum =
    R"(        sums[i * $V + k] = add(sums[i * $V + k], flow);
        dots[i * $V + k] = mul_add(flow, normal, dots[i * $V + k]);
)";

// A thread has the same columns in all rows of a part, and their sums; then the
// sums of a warp's teams are joined, and those of warps, first to last.
constexpr std::string_view kRowsWithSums = R"(  typedef Team<$team> Threads;
  C* const room = (C*)shared_room();
$hold  for (I task = block; task < $parts; task += blocks) {
    C sums[$rounds * $V], dots[$rounds * $V];
#pragma unroll
    for (int i = 0; i < $rounds * $V; ++i) sums[i] = dots[i] = 0;
    const I end = (task + 1) * $part < $rows ? (task + 1) * $part : $rows;
$loop    const auto join = [&](const C* mine, C* to) {
#pragma unroll
      for (int i = 0; i < $rounds; ++i) {
#pragma unroll
        for (int k = 0; k < $V; ++k) {
          C sum = mine[i * $V + k];
#pragma unroll
          for (int step = $team; step < 32; step <<= 1) {
            sum = add(sum, __shfl_xor_sync(0xffffffffu, sum, step));
          }
          room[k * 512 + threadIdx.x] = sum;
        }
        __syncthreads();
#pragma unroll 1
        for (u32 at = threadIdx.x; at < $team * $V; at += 512) {
          const u32 lane = at / $V, k = at % $V;
          const I c = (i * $team + lane) * $V + k;
          if (c >= $channels) continue;
          C all = 0;
#pragma unroll
          for (int t = 0; t < 512 / $apart; ++t) {
            all = add(all, room[k * 512 + t * $apart + lane]);
          }
          to[c] = all;
        }
        __syncthreads();
      }
    };
    C* const part = (C*)scratch + task * 2 * $channels;
    if ($sums) join(sums, part);
    if ($dots) join(dots, part + $channels);
  }
)";

constexpr std::string_view kJoinParts =
    R"(  C* const lanes = shared_lanes<C>();
  for (I task = block; task < $tiles * 2; task += blocks) {
    const I c = task / 2 * 32 + threadIdx.x % 32;
    const bool dots = task % 2 != 0;
    if (dots ? !$dots : !$sums) continue;
    C all = 0;
    if (c < $channels) {
#pragma unroll 4
      for (I p = threadIdx.x / 32; p < $parts; p += 16) {
        all = add(all, ((const C*)scratch)[(p * 2 + dots) * $channels + c]);
      }
    }
    lanes[threadIdx.x] = all;
    __syncthreads();
    if (threadIdx.x < 32 && c < $channels) {
      for (int t = 1; t < 16; ++t) all = add(all, lanes[t * 32 + threadIdx.x]);
      if (dots) {
$write_dots      } else {
$write_sums      }
    }
    __syncthreads();
  }
)";

// Of a thread's sums and what it holds of rows, in registers, and of what a
// move needs beside them. More, and registers would not do.
constexpr std::int64_t kThreadBytes = 312;
constexpr std::int64_t kMoveBytes = 8;
constexpr std::int64_t kTeamRows = 256;  // so that no chain of sums is long
constexpr std::int64_t kBlocks = kBusyBlocks / 2;  // by their registers

// How rows are shared where threads keep the sums of columns.
struct RowCut {
  RowTeam team;  // without rounds: a thread would have too many columns
  int held = 0;  // rows: this one, and the next
  std::int64_t parts = 1;
  std::int64_t part = 0;  // rows of a part
};

RowCut cut_rows(const NormForm& form, const NormShape& shape,
                const RowPlaces& places, DType dtype) {
  RowCut cut;
  if (form.kind == NormKind::group) return cut;
  const std::int64_t rows = shape.all_rows();
  const int sums = (form.dgamma >= 0 ? 1 : 0) + (form.dbeta >= 0 ? 1 : 0);
  // From the best to the worst that have as many idle threads; last what reads
  // rows again.
  struct Way {
    int held;
    std::int64_t most_threads;
  };
  for (const Way& way :
       {Way{1, 32}, Way{2, cuda::kBlockThreads}, Way{1, cuda::kBlockThreads},
        Way{0, cuda::kBlockThreads}}) {
    if (way.held == 0 && cut.team.rounds > 0) break;
    const std::int64_t wide = size_of(wide_dtype(dtype));
    const std::int64_t of_row =
        2 * std::max<std::int64_t>(4, places.width * size_of(dtype)) +
        kMoveBytes;
    const std::int64_t bytes = sums * places.width * wide +
                               (way.held > 0 ? way.held * of_row : 3 * wide);
    const RowTeam team = share_row(rows, shape.channels, places.width,
                                   kThreadBytes / bytes, way.most_threads);
    if (team.rounds == 0) continue;
    if (cut.team.rounds > 0 && team.places() >= cut.team.places()) continue;
    cut.team = team;
    cut.held = way.held;
  }
  if (cut.team.rounds == 0) return cut;
  const std::int64_t teams = cut.team.in_block();
  cut.parts = std::max(std::min(kBlocks, (rows + teams - 1) / teams),
                       rows / (teams * kTeamRows));
  cut.part = (rows + cut.parts - 1) / cut.parts;
  cut.parts = (rows + cut.part - 1) / cut.part;
  return cut;
}

// kRow, and what it needs before a loop over rows.
std::string row_text(std::string_view of, const NormForm& form,
                     const NormShape& shape, const RowPlaces& places,
                     const RowCut& cut) {
  const auto element = [&](int input) {
    return fmt::format("read<{}>(in{} + base + {})", places.width, input,
                       places.at);
  };
  const bool has_mean = form.mean >= 0;
  const std::string mean = has_mean ? fmt::format("in{}[row]", form.mean) : "0";
  const std::string deviation = fmt::format("in{}[row]", form.deviation);
  const bool sums = cut.team.rounds > 0;
  return cuda_text(
      cuda_text(of, {{"sum", sums ? kSum : ""},
                     {"join", has_mean ? kJoinBoth : kJoinSlope},
                     {"parameters", row_parameters_text(form, places)}}),
      {{"V", places.width},
       {"n", shape.count()},
       {"rounds", cut.team.rounds},
       {"base", places.base},
       {"at", places.at},
       {"each", each_of_row(cut.team, shape, places.width)},
       {"dy", cut.held > 0 ? "held.dy[i]" : element(0)},
       {"x", cut.held > 0 ? "held.x[i]" : element(1)},
       {"read_mean", mean},
       {"read_deviation", deviation},
       {"mean", cut.held > 0 ? "held.mean" : mean},
       {"deviation", cut.held > 0 ? "held.deviation" : deviation},
       {"gamma", row_gamma_text(form)}});
}

cuda::OpCode rows_with_sums(const KernelQuery& query, const NormForm& form,
                            const NormShape& shape, const RowPlaces& places,
                            const RowCut& cut) {
  const auto there = [](int output) { return output < 0 ? "false" : "true"; };
  const std::int64_t tiles = (shape.channels + 31) / 32;
  const std::string types = norm_types_text(query, form, shape);
  cuda::OpCode code;
  code.name = fmt::format("{}:cuda:rows={},parts={}", query.op->name,
                          cut.team.threads, cut.parts);
  code.scratch_bytes = 2 * shape.channels * cut.parts *
                       size_of(wide_dtype(query.inputs[0].dtype));
  const auto text = [&](std::string_view of) {
    return row_text(of, form, shape, places, cut);
  };
  const std::string_view held = cut.held == 0   ? ""
                                : cut.held == 1 ? kThis
                                                : kNext;
  std::string loop = row_loop(cut.team, shape, "task * $part", "end",
                              "512 / $team", std::string(held) + text(kRow));
  if (cut.held == 2) loop = std::string(kFirst) + loop;
  const std::string rows = cuda_text(
      cuda_text(kRowsWithSums,
                {{"hold", cut.held > 0 ? text(kHeld) : ""}, {"loop", loop}}),
      {{"team", cut.team.threads},
       {"apart", std::max<std::int64_t>(32, cut.team.threads)},
       {"rounds", cut.team.rounds},
       {"V", places.width},
       {"channels", shape.channels},
       {"rows", shape.all_rows()},
       {"parts", cut.parts},
       {"part", cut.part},
       {"sums", there(form.dbeta)},
       {"dots", there(form.dgamma)}});
  code.stages.emplace_back(
      cuda_function(query, types + rows, cuda_blocks(cut.parts),
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  const std::string join = cuda_text(
      kJoinParts, {{"channels", shape.channels},
                   {"tiles", tiles},
                   {"parts", cut.parts},
                   {"sums", there(form.dbeta)},
                   {"dots", there(form.dgamma)},
                   {"write_sums", write_sum_text(form.dbeta, "all")},
                   {"write_dots", write_sum_text(form.dgamma, "all")}});
  code.stages.emplace_back(cuda_function(
      query, types + join, cuda_blocks(2 * tiles),
      {.flops = 0, .bytes = static_cast<double>(code.scratch_bytes)}));
  return code;
}

}  // namespace

Result<cuda::OpCode> row_norm_grad_code(const KernelQuery& query,
                                        const CudaSettings& settings) {
  const NormForm form = norm_form(query.op->name, *query.attrs);
  const graph::TensorType& x = query.inputs[1];
  const NormShape shape = norm_shape(form.kind, x.shape, *query.attrs);
  const RowPlaces places = row_places(shape, x.dtype);
  if (shape.elements() == 0) return no_rows_code(query, form, shape);
  if (auto made = library_norm(query, settings, form)) return *std::move(made);
  const bool sums = form.dgamma >= 0 || form.dbeta >= 0;
  const RowCut rows = sums ? cut_rows(form, shape, places, x.dtype) : RowCut{};
  if (rows.team.rounds > 0) {
    return rows_with_sums(query, form, shape, places, rows);
  }
  RowCut unsummed;
  unsummed.team.threads = rows_team(shape.count());
  cuda::OpCode code = row_op(query, form, shape, unsummed.team,
                             row_text(kRow, form, shape, places, unsummed));
  if (!sums) return code;
  // Sums come first: dx may take the place of what they are of.
  const ColumnCut cut = cut_columns(shape.all_rows(), shape.channels);
  const DType compute = wide_dtype(x.dtype);
  code.name += fmt::format(",{}", cut.name());
  code.scratch_bytes = 2 * cut.channels * cut.parts * size_of(compute);
  auto& last = std::get<cuda::Function>(code.stages[0]);
  const std::string types = norm_types_text(query, form, shape);
  last.body =
      fmt::format("  {{\n{}  }}\n{}{}", last.body, types,
                  join_sums_text(cut, write_sum_text(form.dbeta, "sum") +
                                          write_sum_text(form.dgamma, "dot")));
  last.blocks = std::max(last.blocks, cuda_blocks((cut.channels + 15) / 16));
  code.stages.insert(
      code.stages.begin(),
      cuda_function(query,
                    types + gradient_sums_text(form, shape, cut, 0, compute),
                    cuda_blocks(cut.tasks()),
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  return code;
}

}  // namespace plimsoll::ops
