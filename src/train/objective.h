// Losses and metrics by their Keras names, over a network's output.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "train/network.h"

namespace plimsoll::train {

// How labels enter the graph, given what one example's label looks like.
struct LabelType {
  DType dtype = DType::f32;
  Shape shape;  // with the batch dimension
};

// Labels of shape () against outputs of shape (1,) are taken as Keras does;
// anything else that does not fit is an error with both shapes.
Result<LabelType> label_type(const std::string& loss, const Shape& output,
                             DType precision, const Shape& stored_label);

// From how many classes on the last product is taken into the loss, so that
// the logits are never whole.
inline constexpr std::int64_t kManyClasses = 4096;
// Whether it is not: it is where the last layer is dense, linear or softmax,
// its sums are of the master type, no metric needs the logits as they are, and
// they are more than a batch of few rows has.
bool logits_are_whole(const TrainSpec& train, const Network& network,
                      const graph::Builder& builder);

// The loss of each example, shape [B].
Result<graph::ValueId> example_losses(graph::Builder& builder,
                                      const std::string& loss,
                                      const Network& network,
                                      graph::ValueId labels,
                                      bool whole_logits = true);

inline constexpr std::string_view kLossNames[] = {
    "binary_crossentropy", "mean_squared_error", "mean_absolute_error",
    "categorical_crossentropy", "sparse_categorical_crossentropy"};
// An error where there is none of this name.
Status check_loss(const std::string& name);

inline constexpr std::string_view kMetricNames[] = {
    "accuracy",
    "binary_accuracy",
    "categorical_accuracy",
    "sparse_categorical_accuracy",
    "mean_squared_error",
    "mean_absolute_error"};
// An error where there is none of this name.
Status check_metric(const std::string& name);
// Why its labels are not those of the loss, or empty.
std::string metric_mismatch(const std::string& metric, const std::string& loss);
// A metric's value for each example, shape [B]. "accuracy" means the one that
// fits the loss, as in Keras.
Result<graph::ValueId> example_metric(graph::Builder& builder,
                                      const std::string& metric,
                                      const std::string& loss,
                                      const Network& network,
                                      graph::ValueId labels);

// What the choice of loss implies that a user may not expect.
std::vector<std::string> notes_on_loss(const TrainSpec& train,
                                       const Network& network,
                                       const graph::Builder& builder);

}  // namespace plimsoll::train
