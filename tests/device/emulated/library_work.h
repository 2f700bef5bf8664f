// What libraries make on a device, in plain loops on the CPU: products and
// convolutions, summed in f64.
#pragma once

#include <functional>

#include "device/cuda_code.h"

namespace plimsoll::emulated {

// With what is at these addresses when it is called; of work that is neither,
// nothing.
std::function<void()> library_work(const cuda::Stage& stage,
                                   const void* const* inputs,
                                   void* const* outputs, void* scratch);

}  // namespace plimsoll::emulated
