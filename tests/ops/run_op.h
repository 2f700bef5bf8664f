// Runs single ops and whole small graphs in plain buffers, for tests that
// need results and not a plan.
#pragma once

#include <vector>

#include "device/cpu/compute_threads.h"
#include "graph/graph.h"
#include "ops/reference.h"

namespace plimsoll::ops::testing {

RefTensor tensor_of(DType dtype, Shape shape, std::vector<double> values);

// Outputs of the cheapest candidate.
Result<std::vector<RefTensor>> run_op(const graph::OpDef& op,
                                      const graph::Attrs& attrs,
                                      const std::vector<RefTensor>& inputs,
                                      ComputeThreads& threads);

// Node by node at the given batch; `inputs` in the order of graph.inputs. The
// result holds every value of the graph by its id.
Result<std::vector<RefTensor>> run_graph(const graph::Graph& graph,
                                         std::int64_t batch,
                                         const std::vector<RefTensor>& inputs,
                                         ComputeThreads& threads);

}  // namespace plimsoll::ops::testing
