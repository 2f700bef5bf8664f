// One kernel with operands of its own, ready to be launched again and again.
#pragma once

#include <memory>
#include <vector>

#include "device/cpu/compute_threads.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::bench {

class BareKernel {
 public:
  // Candidate number `choice` of the op at these types, cheapest first.
  static Result<BareKernel> make(ComputeThreads& threads,
                                 const graph::OpDef& op,
                                 const graph::TypeList& inputs,
                                 const graph::Attrs& attrs, std::size_t choice);
  // Number of candidates there are.
  static std::size_t choices(ComputeThreads& threads, const graph::OpDef& op,
                             const graph::TypeList& inputs,
                             const graph::Attrs& attrs);

  ops::LaunchStatus launch() noexcept { return kernel_->launch(args_); }
  const graph::KernelCandidate& candidate() const { return candidate_; }
  const graph::Cost& cost() const { return cost_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept;
  };
  using Block = std::unique_ptr<std::byte[], Free>;
  static Block allocate(std::int64_t bytes);

  std::unique_ptr<ops::Kernel> kernel_;
  graph::KernelCandidate candidate_;
  graph::Cost cost_;
  std::vector<Block> blocks_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  ops::LaunchArgs args_;
};

}  // namespace plimsoll::bench
