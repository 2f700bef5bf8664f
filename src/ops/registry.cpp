#include "ops/registry.h"

#include <map>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/convolution/convolution.h"
#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/indexing/indexing.h"
#include "ops/loss/loss.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/normalization/normalization.h"
#include "ops/pooling/pooling.h"
#include "ops/random/random.h"
#include "ops/recurrent/recurrent.h"
#include "ops/reduction/reduction.h"
#include "ops/resize/resize.h"
#include "ops/softmax/softmax.h"
#include "ops/update/update.h"

namespace plimsoll::ops {
namespace {

std::vector<const graph::OpDef*> collect() {
  std::vector<const graph::OpDef*> ops;
  const auto append = [&](std::span<const graph::OpDef* const> family) {
    ops.insert(ops.end(), family.begin(), family.end());
  };
  append(elementwise_ops());
  append(movement_ops());
  append(matmul_ops());
  append(reduction_ops());
  append(softmax_ops());
  append(loss_ops());
  append(linear_loss_ops());
  append(random_ops());
  append(update_ops());
  append(indexing_ops());
  append(resize_ops());
  append(embedding_ops());
  append(normalization_ops());
  append(convolution_ops());
  append(pooling_ops());
  append(attention_ops());
  append(recurrent_ops());
  return ops;
}

}  // namespace

std::span<const graph::OpDef* const> all_ops() {
  static const std::vector<const graph::OpDef*> ops = collect();
  return ops;
}

const graph::OpDef* find_op(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const graph::OpDef*> names;
    for (const graph::OpDef* op : all_ops()) names.emplace(op->name, op);
    return names;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace plimsoll::ops
