// One function for all steps: a block has a few rows of the batch, which need
// nothing of other rows, and reads the whole recurrent kernel in every step.
#include "ops/recurrent/recurrent_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/cuda_text.h"
#include "ops/recurrent/recurrent_shape.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Units that a warp has at a time, backward.
constexpr std::int64_t kSideBySide = 4;

constexpr std::string_view kTypes = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
)";

// A thread has all gates of a unit, for $R rows: of the product it makes the
// part that its lane's number says, and the $P lanes of a unit join theirs.
// Then each lane has the gates of one row (or of every $P-th).
constexpr std::string_view kForward =
    R"(  const u32 unit = threadIdx.x / $P, part = threadIdx.x % $P;
  for (I first = block * $R; first < $B; first += blocks * $R) {
    for (I t = 0; t < $steps; ++t) {
      for (I j = unit; j < $all; j += $U) {
        const I from = j < $H ? j : $H - 1;
        C x[$Q][$G], sums[$R][$G];
#pragma unroll
        for (int q = 0; q < $Q; ++q) {
          const I row = first + q * $P + part;
          const T* sum =
              in0 + ((row < $B ? row : $B - 1) * $steps + t) * $W + from;
#pragma unroll
          for (int g = 0; g < $G; ++g) x[q][g] = load(sum[g * $H]);
        }
#pragma unroll
        for (int r = 0; r < $R; ++r) {
#pragma unroll
          for (int g = 0; g < $G; ++g) sums[r][g] = 0;
        }
        if (t > 0) {
          const T* states[$R];
#pragma unroll
          for (int r = 0; r < $R; ++r) {
            const I row = first + r < $B ? first + r : $B - 1;
            states[r] = out0 + (row * $steps + t - 1) * $H;
          }
          for (I k = part * $V; k < $H; k += $P * $V) {
            Vec<T, $V> h[$R];
#pragma unroll
            for (int r = 0; r < $R; ++r) h[r] = read<$V>(states[r] + k);
#pragma unroll
            for (int v = 0; v < $V; ++v) {
              const T* u = in1 + (k + v) * $W + from;
#pragma unroll
              for (int g = 0; g < $G; ++g) {
                const C weight = load(u[g * $H]);
#pragma unroll
                for (int r = 0; r < $R; ++r) {
                  sums[r][g] =
                      mul_add((C)load(h[r].v[v]), weight, sums[r][g]);
                }
              }
            }
          }
#pragma unroll
          for (int step = $P / 2; step > 0; step /= 2) {
#pragma unroll
            for (int r = 0; r < $R; ++r) {
#pragma unroll
              for (int g = 0; g < $G; ++g) {
                sums[r][g] = add(sums[r][g], __shfl_xor_sync(
                    0xffffffffu, sums[r][g], step));
              }
            }
          }
        }
#pragma unroll
        for (int q = 0; q < $Q; ++q) {
          C m[$G];
#pragma unroll
          for (int g = 0; g < $G; ++g) {
            m[g] = sums[q * $P][g];
#pragma unroll
            for (int p = 1; p < $P && q * $P + p < $R; ++p) {
              if (part == p) m[g] = sums[q * $P + p][g];
            }
          }
          const I row = first + q * $P + part;
          if (q * $P + part >= $R || row >= $B || j >= $H) continue;
          const I state = (row * $steps + t) * $H + j;
          const I gate = (row * $steps + t) * $W + j;
$cell        }
      }
      __syncthreads();
    }
  }
)";

constexpr std::string_view kLstm =
    R"(          const C i = e_sigmoid(add(x[q][0], m[0]));
          const C f = e_sigmoid(add(x[q][1], m[1]));
          const C g = tanh_of(add(x[q][2], m[2]));
          const C o = e_sigmoid(add(x[q][3], m[3]));
          const C before = t > 0 ? out1[state - $H] : (C)0;
          const C cell = add(mul(f, before), mul(i, g));
          out1[state] = cell;
          out0[state] = store<T>(mul(o, tanh_of(cell)));
          out2[gate] = store<T>(i);
          out2[gate + $H] = store<T>(f);
          out2[gate + 2 * $H] = store<T>(g);
          out2[gate + 3 * $H] = store<T>(o);
)";

constexpr std::string_view kGru =
    R"(          const T* bias = in2 + j;
          const C z = e_sigmoid(add(x[q][0], add(m[0], (C)load(bias[0]))));
          const C r = e_sigmoid(add(x[q][1], add(m[1], (C)load(bias[$H]))));
          const C product = add(m[2], (C)load(bias[2 * $H]));
          const C n = tanh_of(add(x[q][2], mul(r, product)));
          const C before = t > 0 ? (C)load(out0[state - $H]) : (C)0;
          out0[state] = store<T>(add(mul(z, before), mul(sub((C)1, z), n)));
          out1[state] = store<T>(product);
          out2[gate] = store<T>(z);
          out2[gate + $H] = store<T>(r);
          out2[gate + 2 * $H] = store<T>(n);
)";

// A warp has $J units for $R rows; its lanes share the long sum over all
// gates, and then each has one row of one unit.
constexpr std::string_view kBackward =
    R"(  const u32 lane = threadIdx.x % 32;
  C* carry = (C*)scratch;
  for (I first = block * $R; first < $B; first += blocks * $R) {
    for (I left = $steps; left > 0; --left) {
      const I t = left - 1;
      for (I j = threadIdx.x / 32 * $J; j < $H; j += 16 * $J) {
        C sums[$J][$R];
#pragma unroll
        for (int i = 0; i < $J; ++i) {
#pragma unroll
          for (int r = 0; r < $R; ++r) sums[i][r] = 0;
        }
        if (left < $steps) {
          const T* later[$R];
#pragma unroll
          for (int r = 0; r < $R; ++r) {
            const I row = first + r < $B ? first + r : $B - 1;
            later[r] = $from + (row * $steps + left) * $W;
          }
          for (I k = lane * $V; k < $W; k += 32 * $V) {
            Vec<T, $V> d[$R];
#pragma unroll
            for (int r = 0; r < $R; ++r) d[r] = read<$V>(later[r] + k);
#pragma unroll
            for (int i = 0; i < $J; ++i) {
              const I unit = j + i < $H ? j + i : $H - 1;
              const Vec<T, $V> u = read<$V>(in1 + unit * $W + k);
#pragma unroll
              for (int v = 0; v < $V; ++v) {
#pragma unroll
                for (int r = 0; r < $R; ++r) {
                  sums[i][r] = mul_add((C)load(d[r].v[v]), (C)load(u.v[v]),
                                       sums[i][r]);
                }
              }
            }
          }
#pragma unroll
          for (int i = 0; i < $J; ++i) {
#pragma unroll
            for (int r = 0; r < $R; ++r) {
              sums[i][r] = Team<32>::join<Sum>(sums[i][r]);
            }
          }
        }
        C sum = sums[0][0];
#pragma unroll
        for (int n = 1; n < $J * $R; ++n) {
          if (lane == n) sum = sums[n / $R][n % $R];
        }
        const I row = first + lane % $R, unit = j + lane / $R;
        if (lane >= $J * $R || row >= $B || unit >= $H) continue;
        const I state = (row * $steps + t) * $H + unit;
        const I gate = (row * $steps + t) * $W + unit;
        const I at = row * $H + unit;
        const C next = left < $steps ? carry[at] : (C)0;
$cell      }
      __syncthreads();
    }
  }
)";

constexpr std::string_view kLstmGrad =
    R"(        const C i = load(in3[gate]);
        const C f = load(in3[gate + $H]);
        const C g = load(in3[gate + 2 * $H]);
        const C o = load(in3[gate + 3 * $H]);
        const C before = t > 0 ? in2[state - $H] : (C)0;
        const C y = tanh_of(in2[state]);
        const C dh = add((C)load(in0[state]), sum);
        const C dc = add(next, mul(mul(dh, o), sub((C)1, mul(y, y))));
        out0[gate] = store<T>(mul(mul(dc, g), mul(i, sub((C)1, i))));
        out0[gate + $H] =
            store<T>(mul(mul(dc, before), mul(f, sub((C)1, f))));
        out0[gate + 2 * $H] = store<T>(mul(mul(dc, i), sub((C)1, mul(g, g))));
        out0[gate + 3 * $H] = store<T>(mul(mul(dh, y), mul(o, sub((C)1, o))));
        carry[at] = mul(dc, f);
)";

constexpr std::string_view kGruGrad =
    R"(        const C z = load(in4[gate]);
        const C r = load(in4[gate + $H]);
        const C n = load(in4[gate + 2 * $H]);
        const C before = t > 0 ? (C)load(in2[state - $H]) : (C)0;
        const C product = load(in3[state]);
        const C dh = add(add((C)load(in0[state]), sum), next);
        const C dn = mul(mul(dh, sub((C)1, z)), sub((C)1, mul(n, n)));
        const C dz = mul(mul(dh, sub(before, n)), mul(z, sub((C)1, z)));
        const C dr = mul(mul(dn, product), mul(r, sub((C)1, r)));
        out0[gate] = store<T>(dz);
        out0[gate + $H] = store<T>(dr);
        out0[gate + 2 * $H] = store<T>(dn);
        out1[gate] = store<T>(dz);
        out1[gate + $H] = store<T>(dr);
        out1[gate + 2 * $H] = store<T>(mul(dn, r));
        carry[at] = mul(dh, z);
)";

// Rows of a block: each reads the recurrent kernel once for all of them.
std::int64_t rows_of(const RecurrentShape& shape) {
  const std::int64_t most = shape.dtype == DType::f64 ? 2 : 4;
  return std::min(most, cuda_power_of_two(shape.batch));
}

// How the work of a step lies on threads.
struct StepThreads {
  std::int64_t units = 0;  // at a time
  std::int64_t parts = 0;  // lanes that share the sum of a unit
  std::int64_t width = 0;  // elements read at once
};

StepThreads threads_of(const RecurrentShape& shape) {
  const std::int64_t bytes = size_of(shape.dtype);
  if (shape.gradient) return {16, 32, cuda_width(bytes, shape.width())};
  StepThreads team;
  team.units = std::clamp<std::int64_t>(cuda_power_of_two(shape.hidden), 16,
                                        cuda::kBlockThreads);
  team.parts = cuda::kBlockThreads / team.units;
  team.width = cuda_width(bytes, shape.hidden);
  return team;
}

std::string body_of(const RecurrentShape& shape, const StepThreads& team) {
  const bool lstm = shape.kind == CellKind::lstm;
  const std::int64_t rows = rows_of(shape);
  const std::string cell = cuda_text(
      shape.gradient ? (lstm ? kLstmGrad : kGruGrad) : (lstm ? kLstm : kGru),
      {{"H", shape.hidden}});
  const std::int64_t elements = shape.batch * shape.steps * shape.width();
  const std::string types = cuda_text(
      kTypes,
      {{"T", cuda_type(shape.dtype)},
       {"C", cuda_type(wide_dtype(shape.dtype))},
       {"I", cuda_index(std::max(elements, shape.hidden * shape.width()))}});
  return types + cuda_text(shape.gradient ? kBackward : kForward,
                           {{"B", shape.batch},
                            {"steps", shape.steps},
                            {"H", shape.hidden},
                            {"W", shape.width()},
                            {"G", shape.gates()},
                            {"R", rows},
                            {"Q", (rows + team.parts - 1) / team.parts},
                            {"J", kSideBySide},
                            {"P", team.parts},
                            {"U", team.units},
                            {"all", (shape.hidden + team.units - 1) /
                                        team.units * team.units},
                            {"V", team.width},
                            {"from", lstm ? "out0" : "out1"},
                            {"cell", cell}});
}

Result<cuda::OpCode> code(const KernelQuery& query, const CudaSettings&) {
  // Of a block: barriers and what waits for each other; the recurrent kernel
  // from the second cache.
  constexpr double kStepSeconds = 2e-6;
  constexpr double kKernelBytesPerSecond = 100e9;
  constexpr std::int64_t kMultiprocessors = 132;
  const RecurrentShape shape = recurrent_shape(query.op->name, query.inputs);
  const StepThreads team = threads_of(shape);
  std::string name = fmt::format("{}:cuda:parts={}x{}", query.op->name,
                                 team.parts, team.width);
  if (shape.batch == 0) return cuda_op(query, std::move(name), "", 1);
  const std::int64_t groups =
      (shape.batch + rows_of(shape) - 1) / rows_of(shape);
  cuda::OpCode made = cuda_op(query, std::move(name), body_of(shape, team),
                              cuda_blocks(groups));
  const double all_steps =
      static_cast<double>(shape.steps) *
      (kStepSeconds +
       static_cast<double>(query.inputs[1].bytes()) / kKernelBytesPerSecond);
  made.least_seconds =
      all_steps *
      static_cast<double>((groups + kMultiprocessors - 1) / kMultiprocessors);
  std::get<cuda::Function>(made.stages[0]).one_block_seconds =
      all_steps * static_cast<double>(groups);
  if (shape.gradient) {
    made.scratch_bytes =
        shape.batch * shape.hidden * size_of(wide_dtype(shape.dtype));
  }
  return made;
}

constexpr CudaKernels kKernels[] = {
    {"lstm", code}, {"lstm_grad", code}, {"gru", code}, {"gru_grad", code}};

}  // namespace

std::span<const CudaKernels> recurrent_cuda_kernels() { return kKernels; }

}  // namespace plimsoll::ops
