// Kernel source to device code, by NVRTC, kept on disk by the hash of all that
// decides it. NVRTC itself is opened by name, and only when something is not
// in the cache: it costs tens of MiB of host memory.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace plimsoll::cuda {

// `architecture`: "sm_90". `helper` is a program whose command
// `compile-kernel FILE ARCHITECTURE` does the same for a file: then NVRTC is
// never in this process, whose memory is planned. Empty: it is. `tries`: 2, or
// 1 to know whether the second was needed.
Result<std::string> compile_kernel(const std::string& source,
                                   const std::string& architecture,
                                   const std::string& helper, int tries = 2);

// Kernels that compile_kernel() will be asked for, by so many helpers at once.
// What fails is left to it; without a helper or a cache all of it is.
void compile_kernels_ahead(std::span<const std::string> sources,
                           const std::string& architecture,
                           const std::string& helper, int at_once);

// What is kept of this source: the next call compiles it again.
void forget_kernel(const std::string& source, const std::string& architecture);

// NVRTC's, "13.0"; loads it.
Result<std::string> compiler_version();

}  // namespace plimsoll::cuda
