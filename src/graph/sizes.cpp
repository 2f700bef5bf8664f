#include "graph/sizes.h"

#include <fmt/core.h>

namespace plimsoll::graph {

Status check_sizes(const Graph& graph, std::int64_t batch) {
  for (const Value& value : graph.values) {
    const auto elements = value.type.shape.checked_elements(batch);
    if (!elements) {
      return Error{ErrorCode::bad_input,
                   value.name + ": " + elements.error().message};
    }
    if (*elements > (std::int64_t{1} << 50) / size_of(value.type.dtype)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: {} at batch {} is more than 2^50 bytes",
                               value.name, value.type.to_string(), batch)};
    }
  }
  return {};
}

}  // namespace plimsoll::graph
