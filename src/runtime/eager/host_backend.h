// Eager ops on the host's threads.
#pragma once

#include "device/cpu/compute_threads.h"
#include "runtime/eager/backend.h"

namespace plimsoll::runtime {

// All of these outlive close().
std::unique_ptr<Backend> make_host_backend(ComputeThreads& threads,
                                           const ops::KernelFactory& kernels,
                                           MemorySource& memory);

}  // namespace plimsoll::runtime
