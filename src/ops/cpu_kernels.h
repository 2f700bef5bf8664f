// The CPU's side of the op registry.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ops/kernel.h"

namespace plimsoll {
class ComputeThreads;  // device/cpu/compute_threads.h
}

namespace plimsoll::ops {

// What a family's CPU file offers for its ops. `threads` is the pool in which
// kernels are made and launched; a candidate's name contains every split that
// depends on its size.
struct CpuKernels {
  std::string_view op;
  Result<std::vector<graph::KernelCandidate>> (*candidates)(
      const graph::KernelQuery& query, ComputeThreads& threads) = nullptr;
  Result<std::unique_ptr<Kernel>> (*create)(
      const graph::KernelQuery& query, const graph::KernelCandidate& candidate,
      ComputeThreads& threads) = nullptr;
};

// "3.2.0": part of every fingerprint.
std::string onednn_version();
// Whether oneDNN was asked for a convolution on the CPU: that brings code of
// its own into memory, also where another kernel was chosen. By the images'
// type.
bool asks_onednn_convolution(const graph::KernelCandidate& candidate,
                             DType dtype);

// The factory over all families; `threads` must outlive it.
std::unique_ptr<KernelFactory> make_cpu_kernels(ComputeThreads& threads);

}  // namespace plimsoll::ops
