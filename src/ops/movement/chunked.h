// What the movement kernels share: a fixed cut of a range for threads, and the
// time that moving bytes takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cpu/compute_threads.h"
#include "ops/kernel.h"

namespace plimsoll::ops {

// Chunks by size and number of threads alone; small moves stay on one thread.
inline std::int64_t movement_chunks(double bytes, int threads) {
  constexpr double kBytesOfChunk = 256 * 1024;
  if (threads <= 1 || bytes < 2 * kBytesOfChunk) return 1;
  return std::min(std::int64_t{2} * threads,
                  static_cast<std::int64_t>(bytes / kBytesOfChunk));
}

inline double bytes_moved(const graph::KernelQuery& query) {
  return double(query.inputs[0].bytes()) + double(query.outputs[0].bytes());
}

inline graph::KernelCandidate movement_candidate(
    std::string name, const graph::KernelQuery& query, double bytes_per_second,
    const ComputeThreads& threads) {
  graph::KernelCandidate candidate;
  candidate.name = std::move(name);
  candidate.private_bytes = 512;
  const double bytes = bytes_moved(query);
  const auto sharing = std::min<std::int64_t>(
      movement_chunks(bytes, threads.size()), threads.size());
  candidate.seconds =
      0.1e-6 + bytes / bytes_per_second / static_cast<double>(sharing);
  return candidate;
}

// Calls run(begin, end) for a fixed cut of [0, count).
template <class F>
void for_ranges(ComputeThreads& threads, std::int64_t chunks,
                std::int64_t count, const F& run) noexcept {
  auto body = [&](std::int64_t chunk) {
    run(count * chunk / chunks, count * (chunk + 1) / chunks);
  };
  if (chunks == 1) {
    body(0);
  } else {
    threads.for_each_chunk(chunks, body);
  }
}

using KernelCreator = Result<std::unique_ptr<Kernel>>(
    const graph::KernelQuery&, const graph::KernelCandidate&, ComputeThreads&);
using KernelCandidates = Result<std::vector<graph::KernelCandidate>>(
    const graph::KernelQuery&, ComputeThreads&);

KernelCandidates cast_candidates, transpose_candidates, pack_candidates;
KernelCreator create_cast, create_transpose, create_pack;

}  // namespace plimsoll::ops
