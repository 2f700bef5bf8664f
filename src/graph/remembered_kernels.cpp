#include "graph/remembered_kernels.h"

#include <fmt/core.h>

namespace plimsoll::graph {

Result<std::vector<KernelCandidate>> RememberedKernels::candidates(
    const KernelQuery& query) const {
  std::string key =
      fmt::format("{} {} {} {}", query.op->name, query.attrs->to_string(),
                  to_string(query.inputs), to_string(query.outputs));
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(std::move(key), asked_.candidates(query)).first->second;
}

}  // namespace plimsoll::graph
