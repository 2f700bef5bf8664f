// The family's functions, by file.
#pragma once

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

using NormCode = Result<cuda::OpCode>(const graph::KernelQuery&,
                                      const CudaSettings&);
NormCode row_norm_code, row_norm_grad_code;  // layer, rms and group
NormCode batch_norm_code, batch_norm_grad_code;

}  // namespace plimsoll::ops
