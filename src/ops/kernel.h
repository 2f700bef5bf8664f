// A kernel: made once at planning, launched every step.
#pragma once

#include <memory>

#include "graph/kernel_catalog.h"

namespace plimsoll::ops {

struct LaunchArgs {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  void* scratch = nullptr;  // 64-byte aligned, the candidate's scratch_bytes
};

enum class LaunchStatus { ok, failed };

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Never allocates from the ledger, never throws: whatever can fail has
  // failed when the kernel was made.
  virtual LaunchStatus launch(const LaunchArgs& args) noexcept = 0;
};

// A catalogue whose candidates can be made.
class KernelFactory : public graph::KernelCatalog {
 public:
  virtual Result<std::unique_ptr<Kernel>> create(
      const graph::KernelQuery& query,
      const graph::KernelCandidate& candidate) const = 0;
};

}  // namespace plimsoll::ops
