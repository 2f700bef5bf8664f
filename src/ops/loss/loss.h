// Losses and accuracies. The helpers return one number an example, shape [B]:
// the mean over all other axes.
#pragma once

#include <optional>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

// Rows: -sum(labels * log_softmax(logits)) over the last axis. Labels are
// data: no gradient flows to them. They need not add up to 1.
graph::ValueId softmax_cross_entropy(graph::Builder& builder,
                                     graph::ValueId logits,
                                     graph::ValueId labels);
// The same for class indices, i32 without the last axis. An index outside of
// [0, classes) makes its row NaN.
graph::ValueId sparse_softmax_cross_entropy(graph::Builder& builder,
                                            graph::ValueId logits,
                                            graph::ValueId labels);
// sparse_softmax_cross_entropy of the logits x W + bias, x [..., D], without
// ever holding them whole: they are made in chunks of rows, again for backward.
// The weight is [D, V], or [V, D] where it is `transposed`, as a table of
// embeddings is. The bias [V] is f32 beside bf16 and f16.
graph::ValueId linear_cross_entropy(graph::Builder& builder, graph::ValueId x,
                                    graph::ValueId weight,
                                    graph::ValueId labels,
                                    bool transposed = false,
                                    std::optional<graph::ValueId> bias = {});
// 1 where the first largest element of a row is the labelled one, else 0, in
// f32. Labels: i32 class indices, or dense rows of the scores' type.
graph::ValueId argmax_equals(graph::Builder& builder, graph::ValueId scores,
                             graph::ValueId labels);

// The mean over all axes but the first.
graph::ValueId per_example_mean(graph::Builder& builder, graph::ValueId value);

// Labels have the predictions' shape and dtype.
graph::ValueId binary_cross_entropy_logits(graph::Builder& builder,
                                           graph::ValueId logits,
                                           graph::ValueId labels);
// Probabilities are clipped to [1e-7, 1 - 1e-7].
graph::ValueId binary_cross_entropy(graph::Builder& builder,
                                    graph::ValueId probabilities,
                                    graph::ValueId labels);
graph::ValueId mean_squared_error(graph::Builder& builder,
                                  graph::ValueId predictions,
                                  graph::ValueId labels);
graph::ValueId mean_absolute_error(graph::Builder& builder,
                                   graph::ValueId predictions,
                                   graph::ValueId labels);

// Accuracies are f32 whatever the predictions are. A probability counts as 1
// above 0.5, a logit above 0.
graph::ValueId binary_accuracy(graph::Builder& builder,
                               graph::ValueId probabilities,
                               graph::ValueId labels);
graph::ValueId binary_accuracy_logits(graph::Builder& builder,
                                      graph::ValueId logits,
                                      graph::ValueId labels);
graph::ValueId categorical_accuracy(graph::Builder& builder,
                                    graph::ValueId scores,
                                    graph::ValueId labels);
graph::ValueId sparse_categorical_accuracy(graph::Builder& builder,
                                           graph::ValueId scores,
                                           graph::ValueId labels);

std::span<const graph::OpDef* const> loss_ops();
std::span<const graph::OpDef* const> linear_loss_ops();

}  // namespace plimsoll::ops
