// The ops that the graph layer emits by itself.
#pragma once

#include "graph/standard_ops.h"
#include "ops/registry.h"

namespace plimsoll::ops {

inline graph::StandardOps standard_ops() {
  return {find_op("add"), find_op("fused"), find_op("copy"), find_op("pack"),
          find_op("unpack")};
}

}  // namespace plimsoll::ops
