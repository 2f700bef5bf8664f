// Losses of tensors, at once.
#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/loss/loss.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"
#include "plimsoll/objective.h"
#include "runtime/eager/invoke.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {
namespace {

using graph::Builder;
using graph::ValueId;

// Nothing is the logarithm of 0; Keras's bounds.
ValueId log_of(Builder& builder, ValueId probabilities) {
  constexpr double kLeast = 1e-7;
  return ops::log(builder,
                  ops::clip(builder, probabilities, kLeast, 1 - kLeast));
}

// Labels as predictions are: {n} beside {n, 1} is taken as such. Broadcasting
// the one over the other would compare all with all.
ValueId aligned(Builder& builder, std::string_view name, ValueId labels,
                ValueId predictions) {
  const graph::TensorType wanted = builder.type(predictions);
  const Shape given = builder.type(labels).shape;
  const auto without_last = [](const Shape& shape) {
    auto dims = shape.dims();
    if (!dims.empty() && dims.back() == Dim(1)) dims.pop_back();
    return dims;
  };
  if (without_last(given) != without_last(wanted.shape)) {
    builder.fail(
        {ErrorCode::bad_input,
         fmt::format("{}: labels {} do not fit predictions {}", name,
                     builder.type(labels).to_string(), wanted.to_string())});
    return {};
  }
  return ops::reshape(builder, ops::cast(builder, labels, wanted.dtype),
                      wanted.shape);
}

// One number an example.
ValueId losses(Builder& builder, std::string_view name, ValueId labels,
               ValueId predictions) {
  if (!builder.ok()) return {};
  if (name == sparse_categorical_crossentropy.name) {
    return ops::sparse_softmax_cross_entropy(
        builder, log_of(builder, predictions),
        ops::cast(builder, labels, DType::i32));
  }
  const ValueId dense = aligned(builder, name, labels, predictions);
  if (!builder.ok()) return {};
  if (name == categorical_crossentropy.name) {
    return ops::softmax_cross_entropy(builder, log_of(builder, predictions),
                                      dense);
  }
  if (name == binary_crossentropy.name) {
    return ops::binary_cross_entropy(builder, predictions, dense);
  }
  if (name == mean_absolute_error.name) {
    return ops::mean_absolute_error(builder, predictions, dense);
  }
  return ops::mean_squared_error(builder, predictions, dense);
}

}  // namespace

Tensor Loss::operator()(const Tensor& labels, const Tensor& predictions) const {
  const runtime::ValuePtr operands[] = {runtime::value_of(labels, name),
                                        runtime::value_of(predictions, name)};
  return Tensor(value_or_throw(
      runtime::invoke_one(operands, [&](Builder& builder, auto ids) {
        return ops::reduce_mean(builder, losses(builder, name, ids[0], ids[1]),
                                {});
      })));
}

}  // namespace plimsoll
