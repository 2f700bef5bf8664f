#include "ops/attention/attention_shape.h"

#include <cmath>

namespace plimsoll::ops {

double AttentionShape::pairs() const {
  const auto all_keys = static_cast<double>(keys);
  const auto all_queries = static_cast<double>(queries);
  if (!causal) return all_queries * all_keys;
  // A triangle, and below it the queries that see every key.
  const double rising = queries < keys ? all_queries : all_keys;
  return rising * (rising + 1) / 2 + (all_queries - rising) * all_keys;
}

AttentionShape attention_shape(std::span<const graph::TensorType> inputs,
                               const AttentionForm& form,
                               const graph::Attrs& attrs) {
  const auto shape_of = [&](int position) -> const Shape& {
    return inputs[static_cast<std::size_t>(position)].shape;
  };
  const Shape& q = shape_of(form.q);
  const Shape& k = shape_of(form.k);
  AttentionShape made;
  made.batch = q.extent(0);
  made.queries = q.extent(1);
  made.heads = q.extent(2);
  made.width = q.extent(3);
  made.keys = k.extent(1);
  made.key_heads = k.extent(2);
  made.scale = attrs.get<double>("scale");
  if (made.scale == 0) {
    made.scale = 1 / std::sqrt(static_cast<double>(made.width));
  }
  made.causal = attrs.get<bool>("causal");
  made.mask = std::ssize(inputs) > form.mask;
  if (!made.mask) return made;
  const Shape& mask = shape_of(form.mask);
  std::int64_t stride = made.keys;
  const auto stride_of = [&](int axis) {
    const std::int64_t own = mask.extent(axis) == 1 ? 0 : stride;
    stride *= mask.extent(axis);
    return own;
  };
  made.mask_query = stride_of(2);
  made.mask_head = stride_of(1);
  made.mask_batch = stride_of(0);
  return made;
}

}  // namespace plimsoll::ops
