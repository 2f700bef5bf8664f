// A window of a tensor taken out, and a tensor put into a larger one.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

const graph::OpDef& slice_op();
const graph::OpDef& pad_op();

// A stop: the axis to its end, whatever its extent.
inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

// As NumPy's a[start:stop:step, ...]: one of each an axis, negative starts and
// stops count from the end, and both are held to the axis; steps are 1 or
// more, none at all means 1. The batch stays whole: 0, kToEnd, 1.
graph::ValueId slice(graph::Builder& builder, graph::ValueId a,
                     std::vector<std::int64_t> starts,
                     std::vector<std::int64_t> stops,
                     std::vector<std::int64_t> steps = {});
// `value` before and after each axis and, `interior` times, between its
// elements; 0 for the batch.
graph::ValueId pad(graph::Builder& builder, graph::ValueId a,
                   std::vector<std::int64_t> before,
                   std::vector<std::int64_t> after, double value = 0,
                   std::vector<std::int64_t> interior = {});

// Where the smaller tensor's elements lie along one axis of the larger one.
struct WindowAxis {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
  // From the first to the last.
  std::int64_t covered() const {
    return count > 0 ? (count - 1) * step + 1 : 0;
  }
};
using Window = std::vector<WindowAxis>;
// An axis of the batch is whole, with its multiple as the count.
Result<Window> slice_window(const Shape& larger, const graph::Attrs& attrs);
Result<Window> pad_window(const Shape& smaller, const graph::Attrs& attrs);

}  // namespace plimsoll::ops
