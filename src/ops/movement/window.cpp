#include "ops/movement/window.h"

#include <fmt/core.h>

#include <algorithm>

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
using Sizes = std::vector<std::int64_t>;

// Padding far beyond any memory; sums of three such extents hold.
constexpr std::int64_t kMostPadding = std::int64_t{1} << 40;

Error bad(std::string_view op, const Shape& shape, std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("{} of {}: {}", op, shape.to_string(), why)};
}

// The attribute, one number an axis; `otherwise` for all when it is empty.
Result<Sizes> per_axis(std::string_view op, const Shape& shape,
                       const Attrs& attrs, const std::string& name,
                       std::int64_t otherwise) {
  auto sizes = attrs.get<Sizes>(name);
  if (sizes.empty()) {
    return Sizes(static_cast<std::size_t>(shape.rank()), otherwise);
  }
  if (std::ssize(sizes) == shape.rank()) return sizes;
  return bad(
      op, shape,
      fmt::format("{} {} for {} axes", sizes.size(), name, shape.rank()));
}

// Towards the axis' front, as NumPy holds starts and stops.
std::int64_t held(std::int64_t at, std::int64_t extent) {
  if (at < 0) at = std::max(at, -extent) + extent;
  return std::min(at, extent);
}

Shape shape_of(const Shape& like, const std::vector<std::int64_t>& extents) {
  std::vector<Dim> dims;
  for (int i = 0; i < like.rank(); ++i) {
    dims.emplace_back(extents[static_cast<std::size_t>(i)], like[i].per_batch);
  }
  return Shape(std::move(dims));
}

Result<TypeList> infer_slice(std::span<const TensorType> inputs,
                             const Attrs& attrs) {
  if (inputs.size() != 1) return bad("slice", {}, "takes one operand");
  PLIMSOLL_ASSIGN(const Window window, slice_window(inputs[0].shape, attrs));
  Sizes extents;
  for (const WindowAxis& axis : window) extents.push_back(axis.count);
  return TypeList{{inputs[0].dtype, shape_of(inputs[0].shape, extents)}};
}

Result<TypeList> infer_pad(std::span<const TensorType> inputs,
                           const Attrs& attrs) {
  if (inputs.size() != 1) return bad("pad", {}, "takes one operand");
  const Shape& shape = inputs[0].shape;
  PLIMSOLL_ASSIGN(const Window window, pad_window(shape, attrs));
  PLIMSOLL_ASSIGN(const Sizes after, per_axis("pad", shape, attrs, "after", 0));
  const auto bits = element_bits(inputs[0].dtype, attrs.get<double>("value"));
  if (!bits) return bad("pad", shape, bits.error().message);
  Sizes extents;
  for (std::size_t i = 0; i < window.size(); ++i) {
    extents.push_back(window[i].start + window[i].covered() + after[i]);
  }
  return TypeList{{inputs[0].dtype, shape_of(shape, extents)}};
}

// What is not kept is not read either.
Cost slice_cost(std::span<const TensorType>,
                std::span<const TensorType> outputs, const Attrs&) {
  return {0, 2 * double(outputs[0].bytes())};
}

Cost pad_cost(std::span<const TensorType> inputs,
              std::span<const TensorType> outputs, const Attrs&) {
  return {0, double(inputs[0].bytes()) + double(outputs[0].bytes())};
}

Result<std::vector<ValueId>> slice_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const Shape shape = builder.type(node.inputs[0]).shape;
  PLIMSOLL_ASSIGN(const Window window, slice_window(shape, node.attrs));
  Sizes before, after, interior;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const WindowAxis& axis = window[i];
    before.push_back(axis.start);
    interior.push_back(axis.step - 1);
    after.push_back(shape.dims()[i].size - axis.start - axis.covered());
  }
  return std::vector{pad(builder, context.output_gradients[0],
                         std::move(before), std::move(after), 0,
                         std::move(interior))};
}

Result<std::vector<ValueId>> pad_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const Shape shape = builder.type(node.inputs[0]).shape;
  PLIMSOLL_ASSIGN(const Window window, pad_window(shape, node.attrs));
  Sizes starts, stops, steps;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const WindowAxis& axis = window[i];
    starts.push_back(axis.start);
    stops.push_back(shape.dims()[i].per_batch ? kToEnd
                                              : axis.start + axis.covered());
    steps.push_back(axis.step);
  }
  return std::vector{slice(builder, context.output_gradients[0],
                           std::move(starts), std::move(stops),
                           std::move(steps))};
}

}  // namespace

Result<Window> slice_window(const Shape& larger, const Attrs& attrs) {
  PLIMSOLL_ASSIGN(const Sizes starts,
                  per_axis("slice", larger, attrs, "starts", 0));
  PLIMSOLL_ASSIGN(const Sizes stops,
                  per_axis("slice", larger, attrs, "stops", kToEnd));
  PLIMSOLL_ASSIGN(const Sizes steps,
                  per_axis("slice", larger, attrs, "steps", 1));
  Window window;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Dim dim = larger.dims()[i];
    if (dim.per_batch &&
        (starts[i] != 0 || stops[i] != kToEnd || steps[i] != 1)) {
      return bad("slice", larger,
                 fmt::format("axis {} is the batch, which stays whole: start "
                             "0, stop kToEnd, step 1",
                             i));
    }
    if (steps[i] < 1) {
      return bad(
          "slice", larger,
          fmt::format("axis {} has step {}; steps are 1 or more", i, steps[i]));
    }
    const std::int64_t start = held(starts[i], dim.size);
    const std::int64_t stop = held(stops[i], dim.size);
    const std::int64_t count =
        stop > start ? (stop - start - 1) / steps[i] + 1 : 0;
    // One or none: no step is made, and a huge one cannot overflow.
    window.push_back({start, count > 1 ? steps[i] : 1, count});
  }
  return window;
}

Result<Window> pad_window(const Shape& smaller, const Attrs& attrs) {
  PLIMSOLL_ASSIGN(const Sizes before,
                  per_axis("pad", smaller, attrs, "before", 0));
  PLIMSOLL_ASSIGN(const Sizes after,
                  per_axis("pad", smaller, attrs, "after", 0));
  PLIMSOLL_ASSIGN(const Sizes interior,
                  per_axis("pad", smaller, attrs, "interior", 0));
  Window window;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Dim dim = smaller.dims()[i];
    for (const std::int64_t size : {before[i], after[i], interior[i]}) {
      if (dim.per_batch && size != 0) {
        return bad("pad", smaller,
                   fmt::format("axis {} is the batch: no padding there", i));
      }
      if (size >= 0 && size <= kMostPadding) continue;
      return bad("pad", smaller,
                 fmt::format("axis {} is padded by {}; padding is 0 or more", i,
                             size));
    }
    std::int64_t covered = 0;
    if (__builtin_mul_overflow(dim.size, interior[i] + 1, &covered)) {
      return bad("pad", smaller, fmt::format("axis {} is too long", i));
    }
    window.push_back({before[i], interior[i] + 1, dim.size});
  }
  return window;
}

const OpDef& slice_op() {
  static const OpDef op = {
      .name = "slice",
      .infer = infer_slice,
      .cost = slice_cost,
      .gradient = slice_gradient,
  };
  return op;
}

const OpDef& pad_op() {
  static const OpDef op = {
      .name = "pad",
      .infer = infer_pad,
      .cost = pad_cost,
      .gradient = pad_gradient,
  };
  return op;
}

ValueId slice(Builder& builder, ValueId a, Sizes starts, Sizes stops,
              Sizes steps) {
  return builder.emit(slice_op(), {a},
                      {{"starts", std::move(starts)},
                       {"stops", std::move(stops)},
                       {"steps", std::move(steps)}});
}

ValueId pad(Builder& builder, ValueId a, Sizes before, Sizes after,
            double value, Sizes interior) {
  return builder.emit(pad_op(), {a},
                      {{"before", std::move(before)},
                       {"after", std::move(after)},
                       {"interior", std::move(interior)},
                       {"value", value}});
}

}  // namespace plimsoll::ops
