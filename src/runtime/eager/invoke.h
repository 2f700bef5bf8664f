// Functions that make ops in a builder, run at once.
#pragma once

#include <functional>

#include "graph/builder.h"
#include "runtime/eager/dispatch.h"

namespace plimsoll::runtime {

using Build = std::function<std::vector<graph::ValueId>(
    graph::Builder& builder, std::span<const graph::ValueId> operands)>;
using BuildOne = std::function<graph::ValueId(
    graph::Builder& builder, std::span<const graph::ValueId> operands)>;

// What `build` makes of the operands, op by op. Slower than dispatch() by the
// building of a small graph.
Result<Values> invoke(std::span<const ValuePtr> operands, const Build& build);
Result<ValuePtr> invoke_one(std::span<const ValuePtr> operands,
                            const BuildOne& build);

}  // namespace plimsoll::runtime
