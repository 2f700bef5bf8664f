// Kernel source to device code, by NVRTC, kept on disk by the hash of all that
// decides it. NVRTC itself is opened by name, and only when something is not
// in the cache: it costs tens of MiB of host memory.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::cuda {

// `architecture`: "sm_90". `helper` is a program whose command
// `compile-kernel FILE ARCHITECTURE` does the same for a file: then NVRTC is
// never in this process, whose memory is planned. Empty: it is.
Result<std::string> compile_kernel(const std::string& source,
                                   const std::string& architecture,
                                   const std::string& helper = {});

// What is kept of this source: the next call compiles it again.
void forget_kernel(const std::string& source, const std::string& architecture);

// NVRTC's, "13.0"; loads it.
Result<std::string> compiler_version();

}  // namespace plimsoll::cuda
