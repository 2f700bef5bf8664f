// The CUDA driver, opened by name: nothing links it.
#pragma once

#include <cuda.h>

#include <string>

#include "base/result.h"

namespace plimsoll::cuda {

// cuda.h maps plain names to the versions it was written for; the members
// carry the plain names.
#define PLIMSOLL_DRIVER_CALLS(X)   \
  X(cuInit)                        \
  X(cuDriverGetVersion)            \
  X(cuGetErrorName)                \
  X(cuGetErrorString)              \
  X(cuDeviceGet)                   \
  X(cuDeviceGetCount)              \
  X(cuDeviceGetName)               \
  X(cuDeviceGetAttribute)          \
  X(cuDeviceTotalMem)              \
  X(cuDevicePrimaryCtxRetain)      \
  X(cuDevicePrimaryCtxRelease)     \
  X(cuCtxSetCurrent)               \
  X(cuCtxSetLimit)                 \
  X(cuMemAddressReserve)           \
  X(cuMemAddressFree)              \
  X(cuMemCreate)                   \
  X(cuMemRelease)                  \
  X(cuMemMap)                      \
  X(cuMemUnmap)                    \
  X(cuMemSetAccess)                \
  X(cuMemGetAllocationGranularity) \
  X(cuMemHostRegister)             \
  X(cuMemHostUnregister)           \
  X(cuMemHostGetDevicePointer)     \
  X(cuMemcpyAsync)                 \
  X(cuMemsetD8Async)               \
  X(cuStreamCreateWithPriority)    \
  X(cuStreamDestroy)               \
  X(cuStreamSynchronize)           \
  X(cuStreamWaitEvent)             \
  X(cuStreamBeginCapture)          \
  X(cuStreamEndCapture)            \
  X(cuEventCreate)                 \
  X(cuEventDestroy)                \
  X(cuEventRecord)                 \
  X(cuEventQuery)                  \
  X(cuEventSynchronize)            \
  X(cuModuleLoadData)              \
  X(cuModuleUnload)                \
  X(cuModuleGetFunction)           \
  X(cuFuncGetAttribute)            \
  X(cuLaunchKernel)                \
  X(cuGraphInstantiateWithFlags)   \
  X(cuGraphUpload)                 \
  X(cuGraphLaunch)                 \
  X(cuGraphDestroy)                \
  X(cuGraphExecDestroy)

struct Driver {
  // The opened driver, after cuInit(); the same for all callers.
  static Result<const Driver*> open();

  // "cuMemMap: CUDA_ERROR_INVALID_VALUE: invalid argument".
  Error error(const char* call, CUresult result) const;
  Status check(const char* call, CUresult result) const {
    if (result == CUDA_SUCCESS) return {};
    return error(call, result);
  }

  struct Calls {
#define PLIMSOLL_MEMBER(name) decltype(&::name) p_##name = nullptr;
    PLIMSOLL_DRIVER_CALLS(PLIMSOLL_MEMBER)
#undef PLIMSOLL_MEMBER
  };
  Calls calls;
};

// The driver of this process; open() must have succeeded.
const Driver& driver();

// The context that all calls are made in, from whichever thread: one process
// drives one device.
void set_context(CUcontext context);
// Makes it this thread's where it is not. Every PLIMSOLL_CUDA() does so; calls
// of other libraries need it before.
void enter_context();

// Status of a driver call: PLIMSOLL_CUDA(cuMemMap, address, ...).
#define PLIMSOLL_CUDA(name, ...)      \
  (::plimsoll::cuda::enter_context(), \
   ::plimsoll::cuda::driver().check(  \
       #name, ::plimsoll::cuda::driver().calls.p_##name(__VA_ARGS__)))

}  // namespace plimsoll::cuda
