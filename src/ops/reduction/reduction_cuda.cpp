#include "ops/reduction/reduction_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ops/cuda_text.h"
#include "ops/reduction/reduction_axes.h"
#include "ops/reduction/reduction_split.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;
using Axes = std::vector<std::int64_t>;

constexpr std::int64_t kShortRow = 16;        // a thread makes its result alone
constexpr std::int64_t kWarpRow = 1024;       // a warp, up to here
constexpr std::int64_t kPartElements = 8192;  // that a block of its own is for
constexpr std::int64_t kPartRounds = 16;      // likewise, rows of a column
constexpr std::int64_t kEnoughTasks = 264;    // blocks that fill the device

// How a reduction is cut: by its shape alone.
struct Cut {
  std::int64_t outputs = 0;
  std::int64_t count = 0;  // elements of one result
  bool rows = false;       // a team of threads a row, else tiles of columns
  std::int64_t team = 32;  // rows: threads a row; columns: width of a tile
  std::int64_t parts = 1;  // pieces of each result, joined at the end
  std::int64_t part = 0;   // elements of a piece
  std::int64_t width = 1;  // elements of a row that are read at once
  std::int64_t tasks() const {
    const std::int64_t groups = rows ? outputs : (outputs + team - 1) / team;
    return groups * parts;
  }
};

Cut cut_of(const ReductionSplit& split, DType dtype) {
  Cut cut;
  cut.outputs = split.outer * split.inner;
  cut.count = split.count();
  if (cut.outputs == 0 || cut.count == 0) return cut;
  cut.rows = split.inner == 1 && cut.count > kShortRow;
  if (cut.rows) {
    cut.width = cuda_width(size_of(dtype), split.reduce);
    cut.team = cut.count <= kWarpRow ? 32 : 512;
    if (cut.team == 512) {
      cut.parts = std::clamp<std::int64_t>(
          kEnoughTasks / cut.outputs, 1,
          (cut.count + kPartElements - 1) / kPartElements);
    }
  } else {
    cut.team = std::min<std::int64_t>(32, cuda_power_of_two(cut.outputs));
    while (cut.team < 512 && 512 / cut.team > cut.count) cut.team *= 2;
    const std::int64_t piece = 512 / cut.team * kPartRounds;
    cut.parts = std::clamp<std::int64_t>(kEnoughTasks / cut.tasks(), 1,
                                         (cut.count + piece - 1) / piece);
  }
  // Whole vectors; the last piece may be shorter.
  cut.part = (cut.count + cut.parts - 1) / cut.parts;
  cut.part = (cut.part + cut.width - 1) / cut.width * cut.width;
  cut.parts = (cut.count + cut.part - 1) / cut.part;
  return cut;
}

// Long sums go through a second one, so that no chain of additions is long.
constexpr std::string_view kRows = R"(  typedef Team<$team> Threads;
  for (I task = block * (512 / $team) + threadIdx.x / $team; task < $tasks;
       task += blocks * (512 / $team)) {
    const I o = task / $parts, p = task % $parts;
    const I end = (p + 1) * $part < $count ? (p + 1) * $part : $count;
    const T* x = in0 + $base;
    C total = Op::start<C>();
    for (I i = p * $part + Threads::lane() * $V; i < end;) {
      C some = Op::start<C>();
#pragma unroll 4
      for (int k = 0; k < 64 && i < end; ++k, i += $team * $V) {
        some = Op::join(some, join_all<Op, C>(read<$V>(x + $at)));
      }
      total = Op::join(total, some);
    }
    total = Threads::join<Op>(total);
    if (Threads::lane() == 0) $write
  }
)";

// A tile of $team columns; the block's threads share the rows.
constexpr std::string_view kColumns = R"(  C* lanes = shared_lanes<C>();
  for (I task = block; task < $tasks; task += blocks) {
    const I o = task / $parts * $team + threadIdx.x % $team;
    const I p = task % $parts;
    const I end = (p + 1) * $part < $count ? (p + 1) * $part : $count;
    C total = Op::start<C>();
    if (o < $outputs) {
      const T* x = in0 + $base + o % $inner;
      for (I i = p * $part + threadIdx.x / $team; i < end;) {
        C some = Op::start<C>();
#pragma unroll 4
        for (int k = 0; k < 64 && i < end; ++k, i += 512 / $team) {
          some = Op::join(some, (C)load(x[$at]));
        }
        total = Op::join(total, some);
      }
    }
    lanes[threadIdx.x] = total;
    for (u32 half = 256; half >= $team; half >>= 1) {
      __syncthreads();
      if (threadIdx.x < half) {
        total = Op::join(lanes[threadIdx.x], lanes[threadIdx.x + half]);
        lanes[threadIdx.x] = total;
      }
    }
    if (threadIdx.x < $team && o < $outputs) $write
    __syncthreads();
  }
)";

constexpr std::string_view kJoinParts =
    R"(  for (I o = block * 16 + threadIdx.x / 32; o < $outputs;
       o += blocks * 16) {
    C total = Op::start<C>();
    for (I p = threadIdx.x % 32; p < $parts; p += 32) {
      total = Op::join(total, ((const C*)scratch)[o * $parts + p]);
    }
    total = Team<32>::join<Op>(total);
    if (threadIdx.x % 32 == 0) $write
  }
)";

constexpr std::string_view kNothingToReduce =
    R"(  for (I o = block * 512 + threadIdx.x; o < $outputs;
       o += (I)blocks * 512) {
    const C total = Op::start<C>();
    $write
  }
)";

// The types that all functions of one reduction use.
std::string types_text(const KernelQuery& query) {
  const DType dtype = query.inputs[0].dtype;
  return fmt::format(
      "  typedef {} T;\n  typedef {} C;\n  typedef {} I;\n  typedef {} Op;\n",
      cuda_type(dtype), cuda_type(wide_dtype(dtype)),
      cuda_index(std::max(query.inputs[0].shape.elements(),
                          query.outputs[0].shape.elements())),
      query.op->name == "reduce_max" ? "Max" : "Sum");
}

// `total` becomes result number o.
std::string write_result(const KernelQuery& query, std::int64_t count) {
  std::string value = "total";
  if (query.op->name == "reduce_mean") {
    value = fmt::format("div(total, {})",
                        cuda_number(wide_dtype(query.inputs[0].dtype),
                                    static_cast<double>(count)));
  }
  return fmt::format("out0[o] = store<{}>({});",
                     cuda_type(query.outputs[0].dtype), value);
}

std::vector<CudaAxis> axes_of(const std::vector<Extent>& groups) {
  std::vector<CudaAxis> axes;
  for (const Extent& group : groups) axes.push_back({group.size, group.stride});
  return axes;
}

// Where the i-th element of a result lies, from the result's first one on.
std::string element_offset(const ReductionSplit& split) {
  if (split.repeats == 1) return fmt::format("i * {}", split.inner);
  return fmt::format(
      "{} + i % {} * {}",
      cuda_offset(axes_of(split.reduced), fmt::format("i / {}", split.reduce)),
      split.reduce, split.inner);
}

std::string name_of(const KernelQuery& query, const Cut& cut) {
  const std::string way =
      !cut.rows ? fmt::format("columns={}", cut.team)
                : fmt::format("rows={},width={}",
                              cut.team == 32 ? "warp" : "block", cut.width);
  const std::string parts =
      cut.parts > 1 ? fmt::format(",parts={}", cut.parts) : "";
  return fmt::format("{}:cuda:{}{}", query.op->name, way, parts);
}

Result<cuda::OpCode> reduction(const KernelQuery& query, const CudaSettings&) {
  const DType dtype = query.inputs[0].dtype;
  if (!is_floating(dtype)) return cuda::OpCode();
  const Shape& shape = query.inputs[0].shape;
  PLIMSOLL_ASSIGN(const auto axes,
                  reduced_axes(shape, query.attrs->get<Axes>("axes")));
  const ReductionSplit split = split_reduction(shape, axes);
  const Cut cut = cut_of(split, dtype);
  const std::string types = types_text(query);
  const std::string write = write_result(query, cut.count);
  const std::string name = name_of(query, cut);
  if (cut.outputs == 0) return cuda_op(query, name, "", 1);
  if (cut.count == 0) {
    return cuda_op(
        query, name,
        types + cuda_text(kNothingToReduce,
                          {{"outputs", cut.outputs}, {"write", write}}),
        cuda_blocks_of_threads(cut.outputs));
  }
  const std::string keep =
      fmt::format("((C*)scratch)[o * {} + p] = total;", cut.parts);
  const std::string body =
      types +
      cuda_text(cut.rows ? kRows : kColumns,
                {{"team", cut.team},
                 {"tasks", cut.tasks()},
                 {"parts", cut.parts},
                 {"part", cut.part},
                 {"count", cut.count},
                 {"outputs", cut.outputs},
                 {"inner", split.inner},
                 {"V", cut.width},
                 {"base", cuda_offset(axes_of(split.kept),
                                      fmt::format("o / {}", split.inner))},
                 {"at", element_offset(split)},
                 {"write", cut.parts > 1 ? keep : write}});
  const std::int64_t tasks_a_block = cut.rows ? 512 / cut.team : 1;
  cuda::OpCode code =
      cuda_op(query, name, body,
              cuda_blocks((cut.tasks() + tasks_a_block - 1) / tasks_a_block));
  if (cut.parts == 1) return code;
  const std::int64_t bytes =
      cut.outputs * cut.parts * size_of(wide_dtype(dtype));
  code.scratch_bytes = bytes;
  code.stages.emplace_back(
      cuda_function(query,
                    types + cuda_text(kJoinParts, {{"outputs", cut.outputs},
                                                   {"parts", cut.parts},
                                                   {"write", write}}),
                    cuda_blocks((cut.outputs + 15) / 16),
                    {static_cast<double>(cut.outputs * cut.parts),
                     static_cast<double>(bytes)}));
  return code;
}

Result<cuda::OpCode> divide_by_count(const KernelQuery& query,
                                     const CudaSettings&) {
  const DType dtype = query.inputs[0].dtype;
  if (!is_floating(dtype)) return cuda::OpCode();
  const Shape shape = query.attrs->get<Shape>("shape");
  PLIMSOLL_ASSIGN(const auto axes,
                  reduced_axes(shape, query.attrs->get<Axes>("axes")));
  const std::int64_t elements = query.inputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, "divide_by_count:cuda", "", 1);
  const std::int64_t width = cuda_width(size_of(dtype), elements);
  const auto count = static_cast<double>(reduced_count(shape, axes));
  return cuda_op(
      query, "divide_by_count:cuda",
      cuda_text(R"(  for ($I i = ($I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += ($I)blocks * (512 * $V)) {
    Vec<$T, $V> x = read<$V>(in0 + i);
#pragma unroll
    for (int j = 0; j < $V; ++j) x.v[j] = store<$T>(div(load(x.v[j]), $count));
    write<$V>(out0 + i, x);
  }
)",
                {{"I", cuda_index(elements)},
                 {"V", width},
                 {"N", elements},
                 {"T", cuda_type(dtype)},
                 {"count", cuda_number(wide_dtype(dtype), count)}}),
      cuda_blocks_of_threads(elements / width));
}

}  // namespace

std::span<const CudaKernels> reduction_cuda_kernels() {
  static constexpr std::array<CudaKernels, 4> kernels = {{
      {"reduce_sum", reduction},
      {"reduce_mean", reduction},
      {"reduce_max", reduction},
      {"divide_by_count", divide_by_count},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
