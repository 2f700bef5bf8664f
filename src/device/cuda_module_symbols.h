// What program and module agree on.
#pragma once

namespace plimsoll {

class CudaModule;

inline constexpr const char* kCudaModuleFile = "libplimsoll_cuda.so";
// plimsoll::CudaModule* plimsoll_cuda_module(const char* build): null where
// the module was built from other sources.
inline constexpr const char* kCudaModuleSymbol = "plimsoll_cuda_module";
using CudaModuleFunction = CudaModule* (*)(const char* build);

}  // namespace plimsoll
