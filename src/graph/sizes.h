// Values that no memory holds, found before sizes are multiplied out.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace plimsoll::graph {

// An error names the first value of more than 2^50 bytes at this batch.
Status check_sizes(const Graph& graph, std::int64_t batch);

}  // namespace plimsoll::graph
