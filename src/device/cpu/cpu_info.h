// What processor this is and how much of it the process may use.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Each level contains the one before it, as far as kernels are concerned.
enum class InstructionSet { generic, avx2, avx512, amx };
std::string_view name_of(InstructionSet set);

struct CpuInfo {
  std::string brand;  // "Intel(R) Xeon(R) Processor @ 2.80GHz"
  InstructionSet instruction_set = InstructionSet::generic;
  int affinity_cores = 1;  // the scheduler's mask for this process
  // The mask, cut to whole cores of the tightest cgroup quota, at least one:
  // a thread more than the quota would stall every barrier.
  int usable_cores = 1;
};

// `root` is prepended to the paths of /proc and the cgroup tree, for tests.
CpuInfo read_cpu_info(const std::string& root = "");

}  // namespace plimsoll
