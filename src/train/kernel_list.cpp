#include "train/kernel_list.h"

#include <algorithm>
#include <map>

namespace plimsoll::train {

std::vector<KernelUse> kernels_of(const graph::LoweredGraph& program) {
  std::map<std::string_view, KernelUse> uses;
  for (const graph::Instruction& step : program.instructions) {
    if (step.transfer) continue;  // a copy between memories: no kernel
    KernelUse& use = uses[step.kernel.name];
    use.kernel = step.kernel.name;
    ++use.instructions;
    use.scratch_bytes = std::max(use.scratch_bytes, step.kernel.scratch_bytes);
  }
  std::vector<KernelUse> list;
  for (auto& [name, use] : uses) list.push_back(std::move(use));
  return list;
}

}  // namespace plimsoll::train
