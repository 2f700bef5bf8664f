// Layers that move elements or give them another shape.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/movement/window.h"
#include "train/layers/layer_def.h"

namespace plimsoll {
namespace train {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr LayerKey kReshapeKeys[] = {
    {.key = "target_shape",
     .field = &Layer::target_shape,
     .needed = "`target_shape`, of one example, as in [4, -1]",
     .integers = {.least = -1}},
};
constexpr LayerKey kPermuteKeys[] = {
    {.key = "dims",
     .field = &Layer::dims,
     .needed = "`dims`, the axes from 1 in their new order, as in [2, 1]",
     .integers = {.least = 1, .most = 8}},
};
constexpr LayerKey kSliceKeys[] = {
    {.key = "begin", .field = &Layer::begin, .integers = {.least = 0}},
    {.key = "end",
     .field = &Layer::end,
     .needed = "`end`, the first column behind its part"},
};

std::int64_t example_elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (int i = 1; i < shape.rank(); ++i) elements *= shape.extent(i);
  return elements;
}

Result<LayerResult> build_flatten(LayerContext& context) {
  const Shape& shape = context.shape();
  const std::int64_t width = example_elements(shape);
  return LayerResult(
      ops::reshape(context.builder, context.x(), Shape{shape[0], width}));
}

Result<LayerResult> build_reshape(LayerContext& context) {
  const Shape& shape = context.shape();
  const std::int64_t elements = example_elements(shape);
  Extents target = context.layer.target_shape;
  // In doubles: what a file states may be too large to multiply.
  double known = 1;
  std::int64_t* open = nullptr;
  bool right = !target.empty();
  if (std::count(target.begin(), target.end(), -1) > 1) {
    return context.wrong(fmt::format(
        "target_shape: [{}]: one extent may be -1, to hold the rest",
        fmt::join(target, ", ")));
  }
  for (std::int64_t& extent : target) {
    if (extent != -1) {
      right = right && extent >= 1;
      known *= static_cast<double>(extent);
    } else {
      open = &extent;
    }
  }
  right = right && known <= static_cast<double>(elements);
  if (right && open != nullptr) {
    *open = elements / static_cast<std::int64_t>(known);
    known *= static_cast<double>(*open);
  }
  if (!right || known != static_cast<double>(elements)) {
    return context.wrong(fmt::format(
        "target_shape: [{}] does not hold the {} elements of an example of {}",
        fmt::join(context.layer.target_shape, ", "), elements,
        shape.to_string()));
  }
  std::vector<Dim> dims = {shape[0]};
  dims.insert(dims.end(), target.begin(), target.end());
  return LayerResult(
      ops::reshape(context.builder, context.x(), Shape(std::move(dims))));
}

Result<LayerResult> build_permute(LayerContext& context) {
  const Shape& shape = context.shape();
  Extents axes = {0};
  const Extents& dims = context.layer.dims;
  axes.insert(axes.end(), dims.begin(), dims.end());
  Extents sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool right = static_cast<int>(axes.size()) == shape.rank();
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    right = right && sorted[i] == static_cast<std::int64_t>(i);
  }
  if (!right) {
    return context.wrong(fmt::format(
        "dims: must hold each of 1 to {} once for an input {}, not "
        "[{}]",
        shape.rank() - 1, shape.to_string(), fmt::join(dims, ", ")));
  }
  return LayerResult(ops::transpose(context.builder, context.x(), axes));
}

Result<LayerResult> build_slice(LayerContext& context) {
  const Shape& shape = context.shape();
  const Layer& layer = context.layer;
  if (shape.rank() < 2 || layer.begin < 0 || layer.begin >= layer.end ||
      layer.end > shape.extent(-1)) {
    return context.wrong(fmt::format(
        "slice takes the columns begin to end of the last axis, 0 <= begin < "
        "end <= {}, of an input {}, not {} to {}",
        shape.rank() < 2 ? 0 : shape.extent(-1), shape.to_string(), layer.begin,
        layer.end));
  }
  const auto rank = static_cast<std::size_t>(shape.rank());
  Extents starts(rank, 0);
  Extents stops(rank, ops::kToEnd);
  starts.back() = layer.begin;
  stops.back() = layer.end;
  return LayerResult(ops::slice(context.builder, context.x(), starts, stops));
}

}  // namespace

const LayerDef kFlatten = {.type = "flatten",
                           .build = build_flatten,
                           .indices = LayerDef::Indices::passed_on};
const LayerDef kReshape = {.type = "reshape",
                           .keys = kReshapeKeys,
                           .build = build_reshape,
                           .indices = LayerDef::Indices::passed_on};
const LayerDef kPermute = {.type = "permute",
                           .keys = kPermuteKeys,
                           .build = build_permute,
                           .indices = LayerDef::Indices::passed_on};
const LayerDef kSlice = {.type = "slice",
                         .keys = kSliceKeys,
                         .build = build_slice,
                         .indices = LayerDef::Indices::passed_on};

}  // namespace train

Layer Flatten() { return train::make_layer("flatten"); }

Layer Reshape(std::vector<std::int64_t> target_shape) {
  Layer layer = train::make_layer("reshape");
  layer.target_shape = std::move(target_shape);
  return layer;
}

Layer Permute(std::vector<std::int64_t> dims) {
  Layer layer = train::make_layer("permute");
  layer.dims = std::move(dims);
  return layer;
}

Layer Slice(std::int64_t begin, std::int64_t end) {
  Layer layer = train::make_layer("slice");
  layer.begin = begin;
  layer.end = end;
  return layer;
}

}  // namespace plimsoll
