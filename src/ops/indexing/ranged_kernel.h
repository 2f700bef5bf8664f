// A kernel that cuts `count` independent pieces of work for threads.
#pragma once

#include <memory>
#include <string>

#include "ops/movement/chunked.h"

namespace plimsoll::ops {

// `run(args, begin, end)` makes the given pieces.
template <class Run>
class RangedKernel final : public Kernel {
 public:
  RangedKernel(std::int64_t count, double bytes, Run run,
               ComputeThreads& threads)
      : run_(run),
        count_(count),
        chunks_(movement_chunks(bytes, threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    for_ranges(threads_, chunks_, count_,
               [&](std::int64_t begin, std::int64_t end) {
                 if (begin < end) run_(args, begin, end);
               });
    return LaunchStatus::ok;
  }

 private:
  Run run_;
  const std::int64_t count_;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

// Work counted in bytes, whatever it is: about what one thread does in a
// second is `bytes_per_second`.
template <class Run>
std::unique_ptr<Kernel> make_ranged(std::int64_t count, double bytes, Run run,
                                    ComputeThreads& threads) {
  return std::make_unique<RangedKernel<Run>>(count, bytes, run, threads);
}

inline graph::KernelCandidate ranged_candidate(std::string name, double bytes,
                                               double bytes_per_second,
                                               const ComputeThreads& threads) {
  graph::KernelCandidate candidate;
  candidate.name = std::move(name);
  candidate.private_bytes = 512;
  const auto sharing = std::min<std::int64_t>(
      movement_chunks(bytes, threads.size()), threads.size());
  candidate.seconds =
      0.1e-6 + bytes / bytes_per_second / static_cast<double>(sharing);
  return candidate;
}

inline double cost_bytes(const graph::KernelQuery& query) {
  return query.op->cost(query.inputs, query.outputs, *query.attrs).bytes;
}

}  // namespace plimsoll::ops
