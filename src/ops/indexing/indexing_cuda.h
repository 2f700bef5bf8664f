#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> indexing_cuda_kernels();

// One file each.
Result<cuda::OpCode> gather_cuda(const graph::KernelQuery& query,
                                 const CudaSettings& settings);
Result<cuda::OpCode> scatter_add_cuda(const graph::KernelQuery& query,
                                      const CudaSettings& settings);
Result<cuda::OpCode> argmax_cuda(const graph::KernelQuery& query,
                                 const CudaSettings& settings);
Result<cuda::OpCode> topk_cuda(const graph::KernelQuery& query,
                               const CudaSettings& settings);
Result<cuda::OpCode> topk_grad_cuda(const graph::KernelQuery& query,
                                    const CudaSettings& settings);
Result<cuda::OpCode> one_hot_cuda(const graph::KernelQuery& query,
                                  const CudaSettings& settings);

// What makes an index `at` of a negative one, where they count from the end.
std::string from_end_text(const graph::Attrs& attrs, std::int64_t rows);

}  // namespace plimsoll::ops
