#include "ops/indexing/indexing.h"

#include <array>

namespace plimsoll::ops {

std::span<const graph::OpDef* const> indexing_ops() {
  static const std::array ops = {&gather_op(),    &scatter_add_op(),
                                 &argmax_op(),    &topk_op(),
                                 &topk_grad_op(), &one_hot_op()};
  return ops;
}

bool is_index(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u32; }

}  // namespace plimsoll::ops
