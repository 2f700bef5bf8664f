// A tensor repeated along axes, and axes of extent 1 put in and left out.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

const graph::OpDef& expand_op();

// As NumPy's broadcast_to. Floating values go by broadcast_to() of
// elementwise.h, which fuses; the op moves any dtype.
graph::ValueId expand(graph::Builder& builder, graph::ValueId a, Shape shape);
// A view with an axis of extent 1 at `axis` of the result.
graph::ValueId expand_dims(graph::Builder& builder, graph::ValueId a,
                           std::int64_t axis);
// A view without the given axes, each of extent 1.
graph::ValueId squeeze(graph::Builder& builder, graph::ValueId a,
                       std::vector<std::int64_t> axes);

}  // namespace plimsoll::ops
