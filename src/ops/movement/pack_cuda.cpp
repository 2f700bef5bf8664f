#include "ops/movement/pack_cuda.h"

#include <fmt/core.h>

#include "ops/cuda_text.h"
#include "ops/movement/pack.h"
#include "ops/movement/units_cuda.h"

namespace plimsoll::ops {
namespace {

// The row-major place of packed element i.
std::string place_text(const PackPlan& plan) {
  std::vector<CudaAxis> axes;
  for (const PackDigit& digit : plan.digits) {
    axes.push_back({digit.count, digit.stride});
  }
  return cuda_offset(axes, "i");
}

// Whether packed element i is one of the tensor's.
std::string inside_text(const PackPlan& plan) {
  std::string all;
  for (std::size_t axis = 0; axis < plan.extents.size(); ++axis) {
    if (!plan.is_padded[axis]) continue;
    std::vector<CudaAxis> axes;
    for (const PackDigit& digit : plan.digits) {
      const bool here = digit.axis == static_cast<int>(axis);
      axes.push_back({digit.count, here ? digit.step : 0});
    }
    all += fmt::format("{}{} < {}", all.empty() ? "" : " && ",
                       cuda_offset(axes, "i"), plan.extents[axis]);
  }
  return all.empty() ? "true" : all;
}

}  // namespace

cuda::OpCode pack_cuda(const graph::KernelQuery& query) {
  const PackPlan plan = pack_plan(*query.attrs);
  const bool back = query.op->name == "unpack";
  return cuda_op(
      query, fmt::format("{}:cuda", query.op->name),
      cuda_text(R"(  typedef $I I;
  typedef $W W;
  const W* from = (const W*)in0;
  W* to = (W*)out0;
  for (I i = (I)block * 512 + threadIdx.x; i < $elements;
       i += (I)blocks * 512) {
    const bool inside = $inside;
    const I place = $place;
    $move
  }
)",
                {{"I", cuda_index(plan.elements)},
                 {"W", unit_type(size_of(query.inputs[0].dtype))},
                 {"elements", plan.elements},
                 {"inside", inside_text(plan)},
                 {"place", place_text(plan)},
                 {"move", back ? "if (inside) to[place] = from[i];"
                               : "to[i] = inside ? from[place] : (W)0;"}}),
      cuda_blocks_of_threads(plan.elements));
}

}  // namespace plimsoll::ops
