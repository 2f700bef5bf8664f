#include "ops/movement/pack.h"

#include <fmt/core.h>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Cost;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;

Error bad(std::string_view op, std::span<const TensorType> inputs,
          std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("{}({}): {}", op,
                      inputs.size() == 1 ? inputs[0].to_string() : "", why)};
}

// Elements of a tensor in this layout, without padding.
Result<std::int64_t> check_layout(std::string_view op,
                                  std::span<const TensorType> inputs,
                                  const graph::Layout& layout) {
  if (inputs.size() != 1 || !inputs[0].shape.is_fixed()) {
    return bad(op, inputs, "takes one operand of a fixed shape");
  }
  if (!layout.is_packed()) return bad(op, inputs, "needs a layout");
  const auto digits = graph::digits_of(layout);
  if (!digits) return bad(op, inputs, digits.error().message);
  std::int64_t elements = 1;
  for (const std::int64_t extent : layout.extents) elements *= extent;
  return elements;
}

Result<TypeList> infer_pack(std::span<const TensorType> inputs,
                            const Attrs& attrs) {
  const graph::Layout layout = graph::layout_of(attrs);
  PLIMSOLL_ASSIGN(const std::int64_t elements,
                  check_layout("pack", inputs, layout));
  if (inputs[0].shape.elements() != elements) {
    return bad("pack", inputs,
               fmt::format("the layout is of {} elements", elements));
  }
  return TypeList{{inputs[0].dtype, {layout.elements()}}};
}

Result<TypeList> infer_unpack(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  const graph::Layout layout = graph::layout_of(attrs);
  PLIMSOLL_ASSIGN(const std::int64_t elements,
                  check_layout("unpack", inputs, layout));
  const auto shape = attrs.get<Shape>("shape");
  if (!shape.is_fixed() || shape.elements() != elements ||
      inputs[0].shape.elements() != layout.elements()) {
    return bad("unpack", inputs,
               fmt::format("the layout is of {} elements, {} packed", elements,
                           layout.elements()));
  }
  return TypeList{{inputs[0].dtype, shape}};
}

Cost cost(std::span<const TensorType> inputs,
          std::span<const TensorType> outputs, const Attrs&) {
  return {0, double(inputs[0].bytes()) + double(outputs[0].bytes())};
}

}  // namespace

const OpDef& pack_op() {
  static const OpDef op = {.name = "pack", .infer = infer_pack, .cost = cost};
  return op;
}

const OpDef& unpack_op() {
  static const OpDef op = {
      .name = "unpack", .infer = infer_unpack, .cost = cost};
  return op;
}

PackPlan pack_plan(const Attrs& attrs) {
  const graph::Layout layout = graph::layout_of(attrs);
  const auto digits = graph::digits_of(layout);
  PackPlan plan;
  if (!digits) return plan;
  plan.extents = layout.extents;
  plan.elements = layout.elements();
  std::vector<std::int64_t> strides(layout.extents.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * layout.extents[i];
  }
  std::vector<std::int64_t> reach(strides.size(), 1);
  for (const graph::LayoutDigit& digit : *digits) {
    const auto axis = static_cast<std::size_t>(digit.axis);
    plan.digits.push_back(
        {digit.count, digit.step * strides[axis], digit.axis, digit.step});
    reach[axis] += (digit.count - 1) * digit.step;
  }
  for (std::size_t i = 0; i < reach.size(); ++i) {
    plan.is_padded.push_back(reach[i] > layout.extents[i]);
  }
  return plan;
}

}  // namespace plimsoll::ops
