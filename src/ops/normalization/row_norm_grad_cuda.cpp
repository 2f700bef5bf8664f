// Layer, rms and group normalization, backward: a team of threads has all
// elements of a statistic.
#include <fmt/core.h>

#include <algorithm>

#include "ops/normalization/column_sums_cuda.h"
#include "ops/normalization/norm_codes_cuda.h"
#include "ops/normalization/row_places_cuda.h"
#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

constexpr std::string_view kRow = R"(    const I base = $base;
    const C mean = $mean, deviation = in$deviation[row];
$hold    C level = 0, slope = 0;
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
    level = $level;
    slope = div(Threads::join<Sum>(slope), (C)n);
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

constexpr std::string_view kHold =
    R"(    Vec<T, $V> flows[$rounds], held[$rounds];
$each {
      flows[i] = read<$V>(in0 + base + $at);
      held[i] = read<$V>(in1 + base + $at);
    }
)";

constexpr std::string_view kSum =
    R"(        sums[i * $V + k] = add(sums[i * $V + k], flow);
        dots[i * $V + k] = mul_add(flow, normal, dots[i * $V + k]);
)";

// A thread has the same columns in all rows of a part, and their sums; then the
// sums of teams are joined, first to last.
constexpr std::string_view kRowsWithSums = R"(  typedef Team<$team> Threads;
  C* const room = (C*)shared_room();
  for (I task = block; task < $parts; task += blocks) {
    C sums[$rounds * $V], dots[$rounds * $V];
#pragma unroll
    for (int i = 0; i < $rounds * $V; ++i) sums[i] = dots[i] = 0;
    const I end = (task + 1) * $part < $rows ? (task + 1) * $part : $rows;
    for (I first = task * $part; first < end; first += 512 / $team) {
      // A team without a row waits with the others.
      const I own = first + threadIdx.x / $team;
      const I row = own < end ? own : first;
      const I n = own < end ? $channels : 0;
$row    }
    const auto join = [&](const C* mine, C* to) {
#pragma unroll
      for (int i = 0; i < $rounds; ++i) {
#pragma unroll
        for (int k = 0; k < $V; ++k) {
          room[k * 512 + threadIdx.x] = mine[i * $V + k];
        }
        __syncthreads();
#pragma unroll 1
        for (u32 at = threadIdx.x; at < $team * $V; at += 512) {
          const u32 lane = at / $V, k = at % $V;
          const I c = (i * $team + lane) * $V + k;
          if (c >= $channels) continue;
          C all = 0;
#pragma unroll
          for (int t = 0; t < 512 / $team; ++t) {
            all = add(all, room[k * 512 + t * $team + lane]);
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
        $write_dots
      } else {
        $write_sums
      }
    }
    __syncthreads();
  }
)";

// Of a thread's sums and what it holds of a row, in registers, and of what a
// move needs beside them. More, and registers would not do.
constexpr std::int64_t kThreadBytes = 312;
constexpr std::int64_t kMoveBytes = 8;
constexpr std::int64_t kTeamRows = 256;  // so that no chain of sums is long

// How rows are shared where threads keep the sums of columns.
struct RowCut {
  int team = 32;
  std::int64_t rounds = 0;  // 0: a thread would have too many columns
  std::int64_t parts = 1;
  std::int64_t part = 0;  // rows of a part
};

RowCut cut_rows(const NormForm& form, const NormShape& shape,
                const RowPlaces& places, DType dtype) {
  RowCut cut;
  if (form.kind == NormKind::group) return cut;
  const std::int64_t held =
      std::max<std::int64_t>(4, places.width * size_of(dtype));
  const std::int64_t bytes =
      2 * (held + places.width * size_of(wide_dtype(dtype))) + kMoveBytes;
  for (; cut.team <= cuda::kBlockThreads; cut.team *= 2) {
    cut.rounds = row_rounds(shape.channels, cut.team, places.width);
    if (cut.rounds * bytes <= kThreadBytes) break;
    cut.rounds = 0;
  }
  if (cut.rounds == 0) return cut;
  // As many blocks as an H200 has registers for.
  const std::int64_t blocks =
      cut.rounds * bytes <= kThreadBytes / 2 ? 264 : 132;
  const std::int64_t teams = cuda::kBlockThreads / cut.team;
  const std::int64_t rows = shape.all_rows();
  cut.parts = std::max(std::min(blocks, (rows + teams - 1) / teams),
                       rows / (teams * kTeamRows));
  cut.part = (rows + cut.parts - 1) / cut.parts;
  cut.parts = (rows + cut.part - 1) / cut.part;
  return cut;
}

std::string row_text(const NormForm& form, const RowPlaces& places,
                     const RowCut& cut) {
  const auto element = [&](int input) {
    return fmt::format("read<{}>(in{} + base + {})", places.width, input,
                       places.at);
  };
  const bool has_mean = form.mean >= 0;
  const bool held = cut.rounds > 0;
  const std::string text =
      cuda_text(kRow, {{"hold", held ? kHold : ""},
                       {"sum", held ? kSum : ""},
                       {"parameters", row_parameters_text(form, places)}});
  return cuda_text(
      text,
      {{"V", places.width},
       {"rounds", cut.rounds},
       {"base", places.base},
       {"at", places.at},
       {"each", each_of_row(cut.rounds, places.width)},
       {"dy", held ? "flows[i]" : element(0)},
       {"x", held ? "held[i]" : element(1)},
       {"mean",
        has_mean ? fmt::format("in{}[row]", form.mean) : std::string("(C)0")},
       {"level", has_mean ? "div(Threads::join<Sum>(level), (C)n)" : "(C)0"},
       {"gamma", row_gamma_text(form)},
       {"deviation", form.deviation}});
}

// dbeta or dgamma of channel c, where there is one.
std::string write_text(int output, std::string_view value) {
  if (output < 0) return {};
  return fmt::format("out{}[c] = store<P>({});", output, value);
}

cuda::OpCode rows_with_sums(const KernelQuery& query, const NormForm& form,
                            const NormShape& shape, const RowPlaces& places,
                            const RowCut& cut) {
  const auto there = [](int output) { return output < 0 ? "false" : "true"; };
  const std::int64_t tiles = (shape.channels + 31) / 32;
  const std::string types = norm_types_text(query, form, shape);
  cuda::OpCode code;
  code.name = fmt::format("{}:cuda:rows={},parts={}", query.op->name, cut.team,
                          cut.parts);
  code.scratch_bytes = 2 * shape.channels * cut.parts *
                       size_of(wide_dtype(query.inputs[0].dtype));
  const std::string rows =
      cuda_text(kRowsWithSums, {{"team", cut.team},
                                {"rounds", cut.rounds},
                                {"V", places.width},
                                {"channels", shape.channels},
                                {"rows", shape.all_rows()},
                                {"parts", cut.parts},
                                {"part", cut.part},
                                {"sums", there(form.dbeta)},
                                {"dots", there(form.dgamma)},
                                {"row", row_text(form, places, cut)}});
  code.stages.emplace_back(
      cuda_function(query, types + rows, cuda_blocks(cut.parts),
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  const std::string join =
      cuda_text(kJoinParts, {{"channels", shape.channels},
                             {"tiles", tiles},
                             {"parts", cut.parts},
                             {"sums", there(form.dbeta)},
                             {"dots", there(form.dgamma)},
                             {"write_sums", write_text(form.dbeta, "all")},
                             {"write_dots", write_text(form.dgamma, "all")}});
  code.stages.emplace_back(cuda_function(
      query, types + join, cuda_blocks(2 * tiles),
      {.flops = 0, .bytes = static_cast<double>(code.scratch_bytes)}));
  return code;
}

}  // namespace

Result<cuda::OpCode> row_norm_grad_code(const KernelQuery& query,
                                        const CudaSettings&) {
  const NormForm form = norm_form(query.op->name, *query.attrs);
  const graph::TensorType& x = query.inputs[1];
  const NormShape shape = norm_shape(form.kind, x.shape, *query.attrs);
  const RowPlaces places = row_places(shape, x.dtype);
  const bool sums =
      shape.elements() > 0 && (form.dgamma >= 0 || form.dbeta >= 0);
  const RowCut rows = sums ? cut_rows(form, shape, places, x.dtype) : RowCut{};
  if (rows.rounds > 0) {
    return rows_with_sums(query, form, shape, places, rows);
  }
  cuda::OpCode code =
      rows_cuda(query, rows_of(shape, x.dtype), row_text(form, places, {}));
  if (!sums) return code;
  // Sums come first: dx may take the place of what they are of.
  const ColumnCut cut = cut_columns(shape.all_rows(), shape.channels);
  const DType compute = wide_dtype(x.dtype);
  code.name += fmt::format(",{}", cut.name());
  code.scratch_bytes = 2 * cut.channels * cut.parts * size_of(compute);
  auto& last = std::get<cuda::Function>(code.stages[0]);
  const std::string types = norm_types_text(query, form, shape);
  const std::string text =
      fmt::format("      {}\n      {}\n", write_text(form.dbeta, "sum"),
                  write_text(form.dgamma, "dot"));
  last.body = fmt::format("  {{\n{}  }}\n{}{}", last.body, types,
                          join_sums_text(cut, text));
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
