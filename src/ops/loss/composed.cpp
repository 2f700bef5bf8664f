// Losses and accuracies made of element-wise ops, which fusion then joins.
#include "ops/elementwise/elementwise.h"
#include "ops/loss/loss.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"

namespace plimsoll::ops {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr double kClip = 1e-7;

// Accuracies of any precision meet in one metric type.
ValueId in_f32(Builder& builder, ValueId value) {
  if (!builder.ok() || builder.type(value).dtype == DType::f32) return value;
  return cast(builder, value, DType::f32);
}

ValueId threshold_accuracy(Builder& builder, ValueId scores, ValueId labels,
                           double threshold) {
  const ValueId hits =
      equal(builder, greater_scalar(builder, scores, threshold), labels);
  return per_example_mean(builder, in_f32(builder, hits));
}

}  // namespace

ValueId per_example_mean(Builder& builder, ValueId value) {
  if (!builder.ok() || builder.type(value).shape.rank() <= 1) return value;
  const Shape shape = builder.type(value).shape;
  std::vector<std::int64_t> axes;
  bool single = true;
  for (int axis = 1; axis < shape.rank(); ++axis) {
    axes.push_back(axis);
    single = single && shape[axis] == Dim(1);
  }
  // One element an example needs no mean, only its shape changed.
  if (single) return reshape(builder, value, Shape{shape[0]});
  return reduce_mean(builder, value, std::move(axes));
}

ValueId binary_cross_entropy_logits(Builder& builder, ValueId logits,
                                    ValueId labels) {
  return per_example_mean(builder, bce_logits(builder, logits, labels));
}

ValueId binary_cross_entropy(Builder& builder, ValueId probabilities,
                             ValueId labels) {
  const auto complement = [&](ValueId value) {
    return add_scalar(builder, negate(builder, value), 1.0);
  };
  const ValueId p = minimum_scalar(
      builder, maximum_scalar(builder, probabilities, kClip), 1.0 - kClip);
  const ValueId hit = multiply(builder, labels, log(builder, p));
  const ValueId miss =
      multiply(builder, complement(labels), log(builder, complement(p)));
  return per_example_mean(builder, negate(builder, add(builder, hit, miss)));
}

ValueId mean_squared_error(Builder& builder, ValueId predictions,
                           ValueId labels) {
  return per_example_mean(
      builder, square(builder, subtract(builder, predictions, labels)));
}

ValueId mean_absolute_error(Builder& builder, ValueId predictions,
                            ValueId labels) {
  return per_example_mean(builder,
                          abs(builder, subtract(builder, predictions, labels)));
}

ValueId binary_accuracy(Builder& builder, ValueId probabilities,
                        ValueId labels) {
  return threshold_accuracy(builder, probabilities, labels, 0.5);
}

ValueId binary_accuracy_logits(Builder& builder, ValueId logits,
                               ValueId labels) {
  return threshold_accuracy(builder, logits, labels, 0.0);
}

ValueId categorical_accuracy(Builder& builder, ValueId scores, ValueId labels) {
  return per_example_mean(builder, argmax_equals(builder, scores, labels));
}

ValueId sparse_categorical_accuracy(Builder& builder, ValueId scores,
                                    ValueId labels) {
  return per_example_mean(builder, argmax_equals(builder, scores, labels));
}

}  // namespace plimsoll::ops
