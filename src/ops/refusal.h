// How every device refuses an op that it has no kernel for.
#pragma once

#include <string_view>

#include "graph/kernel_catalog.h"

namespace plimsoll::ops {

// "no kernel for add(i16, i16 -> i16) on cpu"
Error no_kernel(const graph::KernelQuery& query, std::string_view device);

}  // namespace plimsoll::ops
