#include "ops/movement/movement_cpu.h"

#include <array>
#include <cstring>

#include "ops/movement/chunked.h"
#include "ops/movement/move_kernel.h"

namespace plimsoll::ops {
namespace {

// reshape runs it too where somebody wants its result in another buffer.
class CopyKernel final : public Kernel {
 public:
  CopyKernel(std::int64_t bytes, ComputeThreads& threads)
      : bytes_(bytes),
        chunks_(movement_chunks(2 * double(bytes), threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto* from = static_cast<const char*>(args.inputs[0]);
    auto* to = static_cast<char*>(args.outputs[0]);
    if (from == to || bytes_ == 0) return LaunchStatus::ok;
    for_ranges(threads_, chunks_, bytes_,
               [&](std::int64_t begin, std::int64_t end) {
                 std::memcpy(to + begin, from + begin,
                             static_cast<std::size_t>(end - begin));
               });
    return LaunchStatus::ok;
  }

 private:
  const std::int64_t bytes_;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

Result<std::vector<graph::KernelCandidate>> copy_candidates(
    const graph::KernelQuery& query, ComputeThreads& threads) {
  return std::vector{movement_candidate("copy", query, 16e9, threads)};
}

Result<std::unique_ptr<Kernel>> create_copy(const graph::KernelQuery& query,
                                            const graph::KernelCandidate&,
                                            ComputeThreads& threads) {
  return std::unique_ptr<Kernel>(
      std::make_unique<CopyKernel>(query.outputs[0].bytes(), threads));
}

using MovesOf = Moves(const graph::KernelQuery&);

template <MovesOf moves_of>
Result<std::vector<graph::KernelCandidate>> move_candidates(
    const graph::KernelQuery& query, ComputeThreads& threads) {
  return std::vector{move_candidate(query, moves_of(query), threads)};
}

template <MovesOf moves_of>
Result<std::unique_ptr<Kernel>> create_move(const graph::KernelQuery& query,
                                            const graph::KernelCandidate&,
                                            ComputeThreads& threads) {
  return make_move_kernel(moves_of(query), threads);
}

template <MovesOf moves_of>
constexpr CpuKernels moves(std::string_view op) {
  return {op, move_candidates<moves_of>, create_move<moves_of>};
}

}  // namespace

std::span<const CpuKernels> movement_cpu_kernels() {
  static constexpr std::array<CpuKernels, 11> kernels = {{
      {"reshape", copy_candidates, create_copy},
      {"transpose", transpose_candidates, create_transpose},
      {"cast", cast_candidates, create_cast},
      {"copy", copy_candidates, create_copy},
      {"pack", pack_candidates, create_pack},
      {"unpack", pack_candidates, create_pack},
      moves<concat_moves>("concat"),
      moves<split_moves>("split"),
      moves<slice_moves>("slice"),
      moves<pad_moves>("pad"),
      moves<expand_moves>("expand"),
  }};
  return kernels;
}

}  // namespace plimsoll::ops
