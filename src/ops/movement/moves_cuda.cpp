#include "ops/movement/moves_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/cuda_text.h"
#include "ops/movement/units_cuda.h"

namespace plimsoll::ops {
namespace {

std::string offset_text(const StridedMove& box, std::int64_t unit, bool input,
                        CudaNumbers& numbers) {
  std::vector<CudaAxis> axes;
  for (const MoveAxis& axis : box.axes) {
    axes.push_back({axis.extent, (input ? axis.from : axis.to) / unit});
  }
  axes.push_back({box.run / unit, 1});
  const std::int64_t start = (input ? box.from : box.to) / unit;
  return fmt::format("(I){} + {}",
                     numbers.word(static_cast<std::uint64_t>(start)),
                     cuda_offset(axes, "j"));
}

}  // namespace

cuda::OpCode moves_cuda(const graph::KernelQuery& query, const Moves& moves,
                        const CudaSettings& settings) {
  const std::string name = fmt::format("{}:cuda", query.op->name);
  if (moves.boxes.empty()) return cuda_op(query, name, "", 1);
  std::int64_t largest = 0;
  for (const auto types : {query.inputs, query.outputs}) {
    for (const graph::TensorType& type : types) {
      largest = std::max(largest, type.shape.elements());
    }
  }
  std::string body = cuda_text(R"(  typedef $I I;
  const I step = (I)blocks * 512;
  I i = (I)block * 512 + threadIdx.x;
)",
                               {{"I", cuda_index(largest)}});
  // Many starts would be more numbers than a kernel is handed.
  const bool late = moves.boxes.size() == 1 && settings.late_numbers;
  CudaNumbers numbers({.late_numbers = late});
  std::int64_t first = 0;
  for (const StridedMove& box : moves.boxes) {
    const std::int64_t unit = unit_bytes(box);
    const std::int64_t end = first + box.bytes() / unit;
    const bool fills = box.input == StridedMove::kFill;
    const std::string value =
        fills ? unit_of(moves.fill_bits, moves.element_bytes, unit)
              : fmt::format("((const W*)in{})[{}]", box.input,
                            offset_text(box, unit, true, numbers));
    body += cuda_text(R"(  {
    typedef $W W;
    for (; i < $end; i += step) {
      const I j = i - $first;
      const W value = $value;
      ((W*)out$output)[$to] = value;
    }
  }
)",
                      {{"W", unit_type(unit)},
                       {"end", end},
                       {"first", first},
                       {"value", value},
                       {"output", box.output},
                       {"to", offset_text(box, unit, false, numbers)}});
    first = end;
  }
  return std::move(numbers).in(
      cuda_op(query, name, std::move(body), cuda_blocks_of_threads(first)));
}

}  // namespace plimsoll::ops
