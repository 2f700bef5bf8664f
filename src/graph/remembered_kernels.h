// A catalogue that asks another one once for each kind of node. Layers repeat,
// and asking a library is most of what planning takes.
#pragma once

#include <map>

#include "graph/kernel_catalog.h"

namespace plimsoll::graph {

class RememberedKernels final : public KernelCatalog {
 public:
  explicit RememberedKernels(const KernelCatalog& asked) : asked_(asked) {}

  Result<std::vector<KernelCandidate>> candidates(
      const KernelQuery& query) const override;

 private:
  const KernelCatalog& asked_;
  mutable std::map<std::string, Result<std::vector<KernelCandidate>>> known_;
};

}  // namespace plimsoll::graph
