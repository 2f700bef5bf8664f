// A graph of cuDNN's with the engine that runs it.
#pragma once

#include <span>
#include <string>

#include "device/cuda/cudnn_graph.h"
#include "device/stream.h"

namespace plimsoll::cuda {

// What an engine must keep to.
struct CudnnLimits {
  bool full_precision = false;  // f32 operands are not rounded
  bool compiled = false;        // engines that are compiled in this process
  std::int64_t workspace_bytes = 0;
};

class CudnnPlan {
 public:
  // The first engine of the heuristic's that keeps to the limits and gives the
  // same bits each time.
  static Result<CudnnPlan> choose(cudnnHandle_t handle, CudnnGraph graph,
                                  const CudnnLimits& limits);

  // Pointers of the graph's operands, in their order.
  Status launch(Stream& stream, std::span<void* const> pointers,
                void* workspace) const;
  // "engine 52 workspace 1024".
  std::string engine() const;

 private:
  Status try_modes(const CudnnLimits& limits);
  // False: none of them does.
  Result<bool> try_engines(cudnnBackendHeurMode_t mode,
                           const CudnnLimits& limits);
  Result<bool> try_engine(const CudnnDescriptor& config,
                          const CudnnLimits& limits);

  cudnnHandle_t handle_ = nullptr;
  CudnnGraph parts_;  // the library does not say what it copies
  CudnnDescriptor graph_;
  std::vector<std::int64_t> ids_;  // of operands, then of numbers
  CudnnDescriptor plan_;
  std::int64_t engine_ = -1;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace plimsoll::cuda
