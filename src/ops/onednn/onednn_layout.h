// oneDNN's blocked formats as layouts of the graph.
#pragma once

#include <vector>

#include "graph/layout.h"
#include "ops/onednn/onednn_handles.h"

namespace plimsoll::ops {

// The layout of a tensor whose axis axes[i] is the library's axis i; not packed
// where that is row-major. Errors: formats that are not dense blocks.
Result<graph::Layout> onednn_layout(const_dnnl_memory_desc_t desc,
                                    const std::vector<int>& axes);

}  // namespace plimsoll::ops
