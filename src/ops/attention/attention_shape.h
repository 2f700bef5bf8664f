// What attention is given and at which sizes.
#pragma once

#include <cstdint>
#include <span>

#include "graph/op_def.h"

namespace plimsoll::ops {

// Positions among the op's inputs; the mask is there or not.
struct AttentionForm {
  int dy = -1;
  int q = 0;
  int k = 1;
  int v = 2;
  int y = -1;
  int lse = -1;
  int mask = 3;
};
inline constexpr AttentionForm kAttentionForward = {};
inline constexpr AttentionForm kAttentionBackward = {
    .dy = 0, .q = 1, .k = 2, .v = 3, .y = 4, .lse = 5, .mask = 6};

struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t heads = 1;      // of q
  std::int64_t key_heads = 1;  // of k and v
  std::int64_t width = 1;      // of a head
  double scale = 1;
  bool causal = false;
  bool mask = false;
  // Of the mask, in elements, from one to the next; 0: the same for all.
  std::int64_t mask_batch = 0;
  std::int64_t mask_head = 0;
  std::int64_t mask_query = 0;

  std::int64_t group() const { return heads / key_heads; }
  // Elements from one position of q, or of k, to the next.
  std::int64_t query_stride() const { return heads * width; }
  std::int64_t key_stride() const { return key_heads * width; }
  // Keys that come into question for the queries before `query`.
  std::int64_t keys_before(std::int64_t query) const {
    return causal && query < keys ? query : keys;
  }
  // Pairs of a query and a key it may see, of one head.
  double pairs() const;
};

// At fixed shapes that inference has accepted.
AttentionShape attention_shape(std::span<const graph::TensorType> inputs,
                               const AttentionForm& form,
                               const graph::Attrs& attrs);

}  // namespace plimsoll::ops
