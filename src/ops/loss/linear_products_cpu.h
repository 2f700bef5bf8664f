// The products of linear_cross_entropy on the CPU, chosen and sized for its
// chunks: plain values until the kernels are made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/loss/linear_chunks.h"
#include "ops/matmul/matmul_cpu.h"

namespace plimsoll::ops {

struct LinearPlan {
  struct Product {
    ProductShape shape;
    DType output = DType::f32;
    graph::KernelCandidate candidate;
  };
  // Of a chunk of so many rows. A gradient of the weight is made in panels of
  // its rows, which are then added to what earlier chunks gave.
  struct Chunk {
    Product logits;
    Product dx;
    Product panel;
    std::optional<Product> last_panel;
  };

  LinearChunks chunks;
  DType dtype = DType::f32;    // of operands
  DType compute = DType::f32;  // of logits and the weight's gradient
  bool gradient = false;
  bool bias = false;             // is added to the logits: the last input
  std::int64_t panel_rows = 0;   // of the weight
  std::int64_t panel_width = 0;  // a whole row of it
  std::int64_t weight_rows = 0;
  Chunk full;
  std::optional<Chunk> last;  // where it has fewer rows

  // Scratch: logits, their gradients where these have another type, a panel, a
  // product's own.
  std::int64_t logits_bytes = 0;
  std::int64_t gradients_bytes = 0;
  std::int64_t panel_bytes = 0;
  std::int64_t product_bytes = 0;
  std::int64_t private_bytes = 0;
  double seconds = 0;
  std::string name;  // of all that decides rounding

  std::int64_t scratch_bytes() const {
    return logits_bytes + gradients_bytes + panel_bytes + product_bytes;
  }
};

Result<LinearPlan> plan_linear(const graph::KernelQuery& query, bool gradient,
                               ComputeThreads& threads);

}  // namespace plimsoll::ops
