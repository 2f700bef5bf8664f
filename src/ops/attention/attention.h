// Scaled dot-product attention, softmax(scale q k^T) v, without ever holding
// all scores: memory is linear in the numbers of queries and keys.
//
// q [B, S, N, D]; k and v [B, T, K, D], where N is a multiple of K: each head
// of k and v serves N / K neighbouring heads of q.
#pragma once

#include <optional>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

struct AttentionSettings {
  double scale = 0;     // 0: 1 / sqrt(D)
  bool causal = false;  // query i sees the keys 0 to i
};

// -> [B, S, N, D]. A mask is [B or 1, N or 1, S or 1, T] of q's dtype; where it
// is 0 a query does not see a key. It gets no gradient. A query that sees
// nothing gives 0 and has no gradient. The op also keeps the logarithm of each
// query's sum of exponentials, [B, N, S] in f32 (f64 for f64), -infinity where
// it sees nothing.
graph::ValueId attention(graph::Builder& builder, graph::ValueId q,
                         graph::ValueId k, graph::ValueId v,
                         std::optional<graph::ValueId> mask,
                         const AttentionSettings& settings = {});

std::span<const graph::OpDef* const> attention_ops();

}  // namespace plimsoll::ops
