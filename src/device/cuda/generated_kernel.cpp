#include "device/cuda/generated_kernel.h"

#include <fmt/core.h>

#include <array>

#include "device/cuda/cuda_stream.h"
#include "device/cuda/driver.h"

namespace plimsoll::cuda {

Result<std::unique_ptr<GeneratedKernel>> GeneratedKernel::load(
    const std::string& code) {
  auto kernel = std::make_unique<GeneratedKernel>();
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuModuleLoadData, &kernel->module_, code.data()));
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(
      cuModuleGetFunction, &kernel->function_, kernel->module_, "run"));
  int local_bytes = 0;
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuFuncGetAttribute, &local_bytes,
                                         CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                         kernel->function_));
  if (local_bytes != 0) {
    return Error{ErrorCode::unsupported,
                 fmt::format("a generated kernel uses {} bytes of local memory "
                             "a thread; it may use none",
                             local_bytes)};
  }
  return kernel;
}

GeneratedKernel::~GeneratedKernel() {
  if (module_ == nullptr) return;
  static_cast<void>(PLIMSOLL_CUDA(cuModuleUnload, module_));
}

Status GeneratedKernel::launch(Stream& stream, int blocks,
                               std::span<void* const> pointers) {
  std::array<void*, kMostPointers + kMarkPointers> parameters;
  if (pointers.size() > parameters.size()) {
    return Error{ErrorCode::internal,
                 fmt::format("a kernel has {} pointers, {} at most",
                             pointers.size(), parameters.size())};
  }
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    parameters[i] = const_cast<void**>(&pointers[i]);
  }
  return PLIMSOLL_CUDA(cuLaunchKernel, function_, static_cast<unsigned>(blocks),
                       1, 1, kBlockThreads, 1, 1, 0, handle_of(stream),
                       parameters.data(), nullptr);
}

}  // namespace plimsoll::cuda
