#include "ops/movement/join.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/axis_of.h"
#include "ops/movement/expand.h"
#include "ops/movement/window.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::Cost;
using graph::GradientContext;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;
using Sizes = std::vector<std::int64_t>;

// What one kernel can be given beside others; more are joined in groups.
constexpr std::size_t kMostValues = 64;

Error bad(std::string_view op, std::span<const TensorType> inputs,
          const Attrs& attrs, std::string_view why) {
  std::string types;
  for (std::size_t i = 0; i < inputs.size() && i < 4; ++i) {
    types += inputs[i].to_string() + ", ";
  }
  if (inputs.size() > 4) types += fmt::format("{} in all, ", inputs.size());
  return {ErrorCode::bad_input,
          fmt::format("{}({}axis {}): {}", op, types,
                      attrs.get<std::int64_t>("axis"), why)};
}

Cost moves_bytes(std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs, const Attrs&) {
  Cost cost;
  for (const TensorType& type : inputs) cost.bytes += double(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += double(type.bytes());
  return cost;
}

Shape with_dim(const Shape& shape, int axis, Dim dim) {
  std::vector<Dim> dims = shape.dims();
  dims[static_cast<std::size_t>(axis)] = dim;
  return Shape(std::move(dims));
}

Result<TypeList> infer_concat(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  if (inputs.empty() || inputs.size() > kMostValues) {
    return bad("concat", inputs, attrs,
               fmt::format("takes 1 to {} operands", kMostValues));
  }
  const TensorType& first = inputs[0];
  const auto axis =
      axis_of(first.shape.rank(), attrs.get<std::int64_t>("axis"));
  if (!axis) return bad("concat", inputs, attrs, "there is no such axis");
  Dim sum(0, first.shape[*axis].per_batch);
  for (const TensorType& type : inputs) {
    if (type.dtype != first.dtype || type.shape.rank() != first.shape.rank() ||
        with_dim(type.shape, *axis, 1) != with_dim(first.shape, *axis, 1)) {
      return bad("concat", inputs, attrs,
                 fmt::format("{} and {} must agree in dtype and in all other "
                             "axes",
                             first.to_string(), type.to_string()));
    }
    if (type.shape[*axis].per_batch != sum.per_batch) {
      return bad("concat", inputs, attrs,
                 "along the batch all operands must be multiples of it");
    }
    sum.size += type.shape[*axis].size;
  }
  return TypeList{{first.dtype, with_dim(first.shape, *axis, sum)}};
}

Result<TypeList> infer_split(std::span<const TensorType> inputs,
                             const Attrs& attrs) {
  if (inputs.size() != 1) {
    return bad("split", inputs, attrs, "takes one operand");
  }
  const TensorType& type = inputs[0];
  const auto axis = axis_of(type.shape.rank(), attrs.get<std::int64_t>("axis"));
  if (!axis) return bad("split", inputs, attrs, "there is no such axis");
  // A shape, so that multiples of the batch become numbers with it.
  const auto sizes = attrs.get<Shape>("sizes").dims();
  if (sizes.empty() || sizes.size() > kMostValues) {
    return bad("split", inputs, attrs,
               fmt::format("makes 1 to {} parts", kMostValues));
  }
  const Dim whole = type.shape[*axis];
  std::int64_t left = whole.size;
  TypeList parts;
  for (const Dim& size : sizes) {
    if (size.size < 0 || size.size > left ||
        size.per_batch != whole.per_batch) {
      break;
    }
    left -= size.size;
    parts.push_back({type.dtype, with_dim(type.shape, *axis, size)});
  }
  if (left != 0 || parts.size() != sizes.size()) {
    return bad(
        "split", inputs, attrs,
        fmt::format("sizes must be 0 or more and add up to {}{}", whole.size,
                    whole.per_batch ? ", in multiples of B" : ""));
  }
  return parts;
}

// The part [start, start + size) of an axis that is no batch.
ValueId part_of(Builder& builder, ValueId a, int axis, std::int64_t start,
                std::int64_t size) {
  if (!builder.ok()) return {};
  const auto rank = static_cast<std::size_t>(builder.type(a).shape.rank());
  Sizes starts(rank, 0);
  Sizes stops(rank, kToEnd);
  starts[static_cast<std::size_t>(axis)] = start;
  stops[static_cast<std::size_t>(axis)] = start + size;
  return slice(builder, a, std::move(starts), std::move(stops));
}

// Slices, so that a part that nobody needs is not made; the batch cannot be
// sliced.
Result<std::vector<ValueId>> concat_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const ValueId dy = context.output_gradients[0];
  const Shape whole = builder.type(dy).shape;
  const int axis = *axis_of(whole.rank(), node.attrs.get<std::int64_t>("axis"));
  Sizes sizes;
  for (const ValueId input : node.inputs) {
    sizes.push_back(builder.type(input).shape[axis].size);
  }
  if (whole[axis].per_batch) return split(builder, dy, axis, std::move(sizes));
  std::vector<ValueId> gradients;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    gradients.push_back(part_of(builder, dy, axis, start, size));
    start += size;
  }
  return gradients;
}

Result<std::vector<ValueId>> split_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId dy = context.output_gradients[i];
    const TensorType type = builder.type(node.outputs[i]);
    parts.push_back(dy.valid() ? dy : constant(builder, type, 0));
  }
  return std::vector{
      concat(builder, std::move(parts), node.attrs.get<std::int64_t>("axis"))};
}

OpDef define(std::string_view name, decltype(OpDef::infer) infer,
             decltype(OpDef::gradient) gradient) {
  OpDef op;
  op.name = name;
  op.infer = infer;
  op.cost = moves_bytes;
  op.gradient = gradient;
  return op;
}

}  // namespace

const OpDef& concat_op() {
  static const OpDef op = define("concat", infer_concat, concat_gradient);
  return op;
}

const OpDef& split_op() {
  static const OpDef op = define("split", infer_split, split_gradient);
  return op;
}

ValueId concat(Builder& builder, std::vector<ValueId> values,
               std::int64_t axis) {
  if (values.size() == 1 && values[0].valid() && builder.ok() &&
      axis_of(builder.type(values[0]).shape.rank(), axis)) {
    return values[0];
  }
  while (values.size() > kMostValues) {
    std::vector<ValueId> groups;
    for (std::size_t i = 0; i < values.size(); i += kMostValues) {
      const std::size_t end = std::min(values.size(), i + kMostValues);
      groups.push_back(concat(builder,
                              std::vector(values.begin() + std::ptrdiff_t(i),
                                          values.begin() + std::ptrdiff_t(end)),
                              axis));
    }
    values = std::move(groups);
  }
  return builder.emit(concat_op(), std::move(values), {{"axis", axis}});
}

ValueId stack(Builder& builder, std::vector<ValueId> values,
              std::int64_t axis) {
  for (ValueId& value : values) {
    if (!builder.ok() || !value.valid()) break;
    if (!(builder.type(value).shape == builder.type(values[0]).shape)) {
      // Named here: with an axis more the shapes would look strange.
      const TensorType type = builder.type(value);
      builder.fail(bad("stack", std::vector{type}, {{"axis", axis}},
                       "all operands must have one shape"));
      return {};
    }
  }
  const int rank = values.empty() || !builder.ok() || !values[0].valid()
                       ? 0
                       : builder.type(values[0]).shape.rank();
  for (ValueId& value : values) value = expand_dims(builder, value, axis);
  return concat(builder, std::move(values), axis < 0 ? axis + rank + 1 : axis);
}

std::vector<ValueId> split(Builder& builder, ValueId a, std::int64_t axis,
                           Sizes sizes) {
  if (sizes.size() <= kMostValues) {
    const auto at = a.valid() && builder.ok()
                        ? axis_of(builder.type(a).shape.rank(), axis)
                        : std::nullopt;
    const bool of_batch = at && builder.type(a).shape[*at].per_batch;
    std::vector<Dim> dims;
    for (const std::int64_t size : sizes) dims.emplace_back(size, of_batch);
    return builder.emit_all(
        split_op(), {a}, {{"axis", axis}, {"sizes", Shape(std::move(dims))}});
  }
  // Into groups first, as few as can be.
  std::vector<Sizes> groups;
  const std::size_t each = (sizes.size() + kMostValues - 1) / kMostValues;
  for (std::size_t i = 0; i < sizes.size(); i += each) {
    const std::size_t end = std::min(sizes.size(), i + each);
    groups.emplace_back(sizes.begin() + std::ptrdiff_t(i),
                        sizes.begin() + std::ptrdiff_t(end));
  }
  Sizes sums;
  for (const Sizes& group : groups) {
    sums.push_back(
        std::accumulate(group.begin(), group.end(), std::int64_t{0}));
  }
  const auto wholes = split(builder, a, axis, std::move(sums));
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    for (const ValueId part : split(builder, wholes[i], axis, groups[i])) {
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<ValueId> split_equally(Builder& builder, ValueId a,
                                   std::int64_t axis, std::int64_t sections) {
  if (!builder.ok() || !a.valid()) return split(builder, a, axis, {});
  const TensorType type = builder.type(a);
  const auto at = axis_of(type.shape.rank(), axis);
  if (!at) return split(builder, a, axis, {1});  // which names the mistake
  const std::int64_t size = type.shape[*at].size;
  if (sections < 1 || size % sections != 0) {
    builder.fail(bad("split", std::vector{type}, {{"axis", axis}},
                     fmt::format("{} are no {} equal parts", size, sections)));
    return {};
  }
  return split(builder, a, axis,
               Sizes(static_cast<std::size_t>(sections), size / sections));
}

}  // namespace plimsoll::ops
