#include "ops/movement/moves_cuda.h"

#include <fmt/core.h>

#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

// So many bytes as one type of the prelude.
std::string unit_type(std::int64_t bytes) {
  if (bytes < 4) return bytes == 1 ? "Vec<u8, 1>" : "Vec<u16, 1>";
  return fmt::format("Vec<u32, {}>", bytes / 4);
}

// A unit of the element's bits, over and over.
std::string fill_text(const Moves& moves, std::int64_t unit) {
  const std::int64_t word = std::min<std::int64_t>(unit, 4);
  std::string text = "{{";
  for (std::int64_t at = 0; at < unit; at += word) {
    std::uint64_t bits = 0;
    for (std::int64_t i = 0; i < word; ++i) {
      const std::int64_t byte = (at + i) % moves.element_bytes;
      bits |= (moves.fill_bits >> (8 * byte) & 0xff) << (8 * i);
    }
    text += fmt::format("{}{:#x}", at > 0 ? ", " : "", bits);
  }
  return text + "}}";
}

std::string offset_text(const StridedMove& box, std::int64_t unit, bool input) {
  std::vector<CudaAxis> axes;
  for (const MoveAxis& axis : box.axes) {
    axes.push_back({axis.extent, (input ? axis.from : axis.to) / unit});
  }
  axes.push_back({box.run / unit, 1});
  return fmt::format("{} + {}", (input ? box.from : box.to) / unit,
                     cuda_offset(axes, "j"));
}

}  // namespace

cuda::OpCode moves_cuda(const graph::KernelQuery& query, const Moves& moves) {
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
  std::int64_t first = 0;
  for (const StridedMove& box : moves.boxes) {
    const std::int64_t unit = unit_bytes(box);
    const std::int64_t end = first + box.bytes() / unit;
    const bool fills = box.input == StridedMove::kFill;
    const std::string value =
        fills ? fill_text(moves, unit)
              : fmt::format("((const W*)in{})[{}]", box.input,
                            offset_text(box, unit, true));
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
                       {"to", offset_text(box, unit, false)}});
    first = end;
  }
  return cuda_op(query, name, std::move(body), cuda_blocks_of_threads(first));
}

}  // namespace plimsoll::ops
