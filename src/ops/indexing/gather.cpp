#include "ops/indexing/gather.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "ops/indexing/indexing.h"
#include "ops/movement/axis_of.h"
#include "ops/movement/element_bits.h"

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

Attrs attrs_of(std::int64_t axis, bool from_end) {
  Attrs attrs = {{"axis", axis}};
  if (!from_end) attrs.set("from_end", false);
  return attrs;
}

Error bad(std::string_view op, std::span<const TensorType> inputs,
          const Attrs& attrs, std::string_view why) {
  std::string types;
  for (const TensorType& type : inputs) types += type.to_string() + ", ";
  return {ErrorCode::bad_input,
          fmt::format("{}({}axis {}): {}", op, types,
                      attrs.get<std::int64_t>("axis"), why)};
}

// `shape` with the axes [first, first + count) replaced.
Shape replaced(const Shape& shape, int first, int count,
               const std::vector<Dim>& by) {
  std::vector<Dim> dims = shape.dims();
  dims.erase(dims.begin() + first, dims.begin() + first + count);
  dims.insert(dims.begin() + first, by.begin(), by.end());
  return Shape(std::move(dims));
}

Result<TypeList> infer_gather(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  if (inputs.size() != 2 || !is_index(inputs[1].dtype)) {
    return bad("gather", inputs, attrs,
               "takes a table and indices of an integer type up to i64");
  }
  const Shape& table = inputs[0].shape;
  const auto axis = axis_of(table.rank(), attrs.get<std::int64_t>("axis"));
  if (!axis) return bad("gather", inputs, attrs, "there is no such axis");
  if (table[*axis].per_batch) {
    return bad("gather", inputs, attrs,
               "the axis is the batch, whose examples have no fixed index");
  }
  Shape shape = replaced(table, *axis, 1, inputs[1].shape.dims());
  if (std::count_if(shape.dims().begin(), shape.dims().end(),
                    [](const Dim& dim) { return dim.per_batch; }) > 1) {
    return bad("gather", inputs, attrs,
               "table and indices cannot both have the batch");
  }
  return TypeList{{inputs[0].dtype, std::move(shape)}};
}

Result<TypeList> infer_scatter_add(std::span<const TensorType> inputs,
                                   const Attrs& attrs) {
  if (inputs.size() < 2 || inputs.size() > 3 || !is_index(inputs[1].dtype)) {
    return bad("scatter_add", inputs, attrs,
               "takes values, indices of an integer type up to i64 and perhaps "
               "what they are added to");
  }
  const Shape& values = inputs[0].shape;
  const Shape& indices = inputs[1].shape;
  const auto axis = axis_of(values.rank() - indices.rank() + 1,
                            attrs.get<std::int64_t>("axis"));
  const auto extent = attrs.get<std::int64_t>("extent");
  if (!axis || values.rank() < indices.rank()) {
    return bad("scatter_add", inputs, attrs, "there is no such axis");
  }
  if (!std::equal(indices.dims().begin(), indices.dims().end(),
                  values.dims().begin() + *axis)) {
    return bad("scatter_add", inputs, attrs,
               "values must have the indices' shape from that axis on");
  }
  if (extent < 0) {
    return bad("scatter_add", inputs, attrs,
               fmt::format("makes {} rows", extent));
  }
  const TensorType sums{inputs[0].dtype,
                        replaced(values, *axis, indices.rank(), {Dim(extent)})};
  if (inputs.size() == 3 && inputs[2] != sums) {
    return bad("scatter_add", inputs, attrs,
               "adds to " + sums.to_string() + " alone");
  }
  return TypeList{sums};
}

// A row is read once for each index.
Cost gather_cost(std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs, const Attrs&) {
  return {0, double(inputs[1].bytes()) + 2 * double(outputs[0].bytes())};
}

// All rows are made, whether an index names them or not; where they are added
// to something, in place, those alone that indices name.
Cost scatter_cost(std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs, const Attrs&) {
  const TensorType& written = inputs.size() == 3 ? inputs[0] : outputs[0];
  return {double(inputs[0].shape.elements()), double(inputs[0].bytes()) +
                                                  double(inputs[1].bytes()) +
                                                  double(written.bytes())};
}

Result<std::vector<ValueId>> gather_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const Shape table = builder.type(node.inputs[0]).shape;
  const int axis = *axis_of(table.rank(), node.attrs.get<std::int64_t>("axis"));
  return std::vector{
      scatter_add(builder, context.output_gradients[0], node.inputs[1],
                  table[axis].size, axis, counts_from_end(node.attrs)),
      ValueId()};
}

// What was left out has no influence: its gradient is 0.
Result<std::vector<ValueId>> scatter_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const int rank = builder.type(node.outputs[0]).shape.rank();
  const std::int64_t axis =
      *axis_of(rank, node.attrs.get<std::int64_t>("axis"));
  Attrs attrs = attrs_of(axis, counts_from_end(node.attrs));
  attrs.set("zeros", true);
  std::vector gradients{
      builder.emit(gather_op(), {context.output_gradients[0], node.inputs[1]},
                   std::move(attrs)),
      ValueId()};
  if (node.inputs.size() == 3) {
    gradients.push_back(context.output_gradients[0]);
  }
  return gradients;
}

}  // namespace

const OpDef& gather_op() {
  static const OpDef op = {
      .name = "gather",
      .infer = infer_gather,
      .cost = gather_cost,
      .gradient = gather_gradient,
  };
  return op;
}

const OpDef& scatter_add_op() {
  static const OpDef op = {
      .name = "scatter_add",
      .infer = infer_scatter_add,
      .cost = scatter_cost,
      .gradient = scatter_gradient,
      .in_place = {{2, 0}},
  };
  return op;
}

ValueId gather(Builder& builder, ValueId a, ValueId indices, std::int64_t axis,
               bool from_end) {
  return builder.emit(gather_op(), {a, indices}, attrs_of(axis, from_end));
}

ValueId scatter_add(Builder& builder, ValueId values, ValueId indices,
                    std::int64_t extent, std::int64_t axis, bool from_end) {
  Attrs attrs = attrs_of(axis, from_end);
  attrs.set("extent", extent);
  return builder.emit(scatter_add_op(), {values, indices}, std::move(attrs));
}

bool counts_from_end(const Attrs& attrs) {
  return attrs.get<bool>("from_end", true);
}

Gathered gathered(const TensorType& table, const TensorType& indices,
                  const Attrs& attrs) {
  const AroundAxis around = around_axis(
      table.shape,
      *axis_of(table.shape.rank(), attrs.get<std::int64_t>("axis")));
  return {around.outer, around.extent, indices.shape.elements(), around.inner};
}

std::uint64_t outside_bits(DType dtype, const Attrs& attrs) {
  if (!is_floating(dtype) || attrs.get<bool>("zeros")) return 0;
  return *element_bits(dtype, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace plimsoll::ops
