#include <map>
#include <span>

#include "ops/attention/attention_reference.h"
#include "ops/convolution/convolution_reference.h"
#include "ops/elementwise/elementwise_reference.h"
#include "ops/embedding/embedding_reference.h"
#include "ops/indexing/indexing_reference.h"
#include "ops/loss/loss_reference.h"
#include "ops/matmul/matmul_reference.h"
#include "ops/movement/movement_reference.h"
#include "ops/normalization/normalization_reference.h"
#include "ops/pooling/pooling_reference.h"
#include "ops/random/random_reference.h"
#include "ops/recurrent/recurrent_reference.h"
#include "ops/reduction/reduction_reference.h"
#include "ops/reference.h"
#include "ops/resize/resize_reference.h"
#include "ops/softmax/softmax_reference.h"
#include "ops/update/update_reference.h"

namespace plimsoll::ops {
namespace {

std::map<std::string_view, ReferenceFn> collect() {
  std::map<std::string_view, ReferenceFn> references;
  const auto append = [&](std::span<const Reference> family) {
    for (const Reference& entry : family) {
      references.emplace(entry.op, entry.run);
    }
  };
  append(elementwise_references());
  append(movement_references());
  append(matmul_references());
  append(reduction_references());
  append(softmax_references());
  append(loss_references());
  append(random_references());
  append(update_references());
  append(indexing_references());
  append(resize_references());
  append(embedding_references());
  append(normalization_references());
  append(convolution_references());
  append(pooling_references());
  append(attention_references());
  append(recurrent_references());
  return references;
}

}  // namespace

ReferenceFn find_reference(std::string_view op) {
  static const auto references = collect();
  const auto found = references.find(op);
  return found == references.end() ? nullptr : found->second;
}

}  // namespace plimsoll::ops
