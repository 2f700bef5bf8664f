// Matrix products by cuBLASLt: the algorithm is chosen once, by the library's
// own heuristic, within the workspace that the plan gives, and never one whose
// sums depend on timing.
#pragma once

#include <cublasLt.h>

#include "device/cuda_device.h"

namespace plimsoll::cuda {

Result<std::unique_ptr<CudaWork>> make_cublaslt_product(cublasLtHandle_t handle,
                                                        const Product& product);

// "13.0.2".
std::string cublaslt_version();

Status check(const char* call, cublasStatus_t status);

}  // namespace plimsoll::cuda
