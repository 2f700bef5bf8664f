#include "ops/softmax/rows_cuda.h"

#include <fmt/core.h>

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kWarpRow = 1024;

constexpr std::string_view kLoop = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
  typedef Team<$team> Threads;
  const I n = $n;
  for (I row = block * (512 / $team) + threadIdx.x / $team; row < $rows;
       row += blocks * (512 / $team)) {
$text  }
)";

}  // namespace

std::int64_t rows_team(std::int64_t n) {
  return n <= kWarpRow ? 32 : cuda::kBlockThreads;
}

cuda::OpCode rows_cuda(const graph::KernelQuery& query,
                       const graph::TensorType& scores, std::string_view text) {
  const std::int64_t elements = scores.shape.elements();
  const std::int64_t n = scores.shape.extent(-1);
  const std::int64_t team = rows_team(n);
  const bool warps = team == 32;
  std::string name =
      fmt::format("{}:cuda:rows={}", query.op->name, warps ? "warp" : "block");
  if (elements == 0) return cuda_op(query, std::move(name), "", 1);
  const std::int64_t rows = elements / n;
  return cuda_op(query, std::move(name),
                 cuda_text(kLoop, {{"T", cuda_type(scores.dtype)},
                                   {"C", cuda_type(wide_dtype(scores.dtype))},
                                   {"I", cuda_index(elements)},
                                   {"team", team},
                                   {"n", n},
                                   {"rows", rows},
                                   {"text", text}}),
                 cuda_blocks(warps ? (rows + 15) / 16 : rows));
}

}  // namespace plimsoll::ops
