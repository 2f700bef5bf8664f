#include "train/objective.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "ops/loss/loss.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::ValueId;

bool is_sparse(const std::string& name) {
  return name.starts_with("sparse_categorical");
}

// Axes after the batch.
Shape example_shape(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
}

bool has_many_classes(const std::string& loss, const Network& network,
                      const Builder& builder) {
  return loss == "sparse_categorical_crossentropy" &&
         builder.type(network.output).shape.extent(-1) >= kManyClasses;
}

// A weight's gradient is a whole one in any case: logits of half its size are
// little beside it, and are made once instead of twice.
bool has_few_rows(const TrainSpec& train, const Network& network,
                  const Builder& builder) {
  const Shape& x = builder.type(network.head->x).shape;
  const auto elements = x.checked_elements(train.batch);
  const std::int64_t width = x.extent(-1);
  return elements && *elements / width <= width / 2;
}

std::string resolve_accuracy(const std::string& loss, const Network& network,
                             const Builder& builder) {
  if (is_sparse(loss)) return "sparse_categorical_accuracy";
  const Shape& output = builder.type(network.output).shape;
  if (loss == "binary_crossentropy" || output.extent(-1) == 1) {
    return "binary_accuracy";
  }
  return "categorical_accuracy";
}

}  // namespace

Result<LabelType> label_type(const std::string& loss, const Shape& output,
                             DType precision, const Shape& stored_label) {
  const Shape wanted = example_shape(output);
  if (is_sparse(loss)) {
    const Shape rows(
        std::vector<Dim>(output.dims().begin(), output.dims().end() - 1));
    if (stored_label.same_elements(example_shape(rows))) {
      return LabelType{DType::i32, rows};
    }
    return Error{
        ErrorCode::bad_input,
        fmt::format("loss {} over outputs {} takes class indices of "
                    "shape {} for each example, but the labels have "
                    "shape {}",
                    loss, output.to_string(), example_shape(rows).to_string(),
                    stored_label.to_string())};
  }
  const bool scalar_for_one = stored_label.rank() == 0 && wanted == Shape{1};
  const bool one_for_scalar = stored_label == Shape{1} && wanted.rank() == 0;
  if (stored_label == wanted || scalar_for_one || one_for_scalar) {
    return LabelType{precision, output};
  }
  return Error{
      ErrorCode::bad_input,
      fmt::format("labels of shape {} do not fit the model's output of shape "
                  "{} for each example (loss {})",
                  stored_label.to_string(), wanted.to_string(), loss)};
}

bool logits_are_whole(const TrainSpec& train, const Network& network,
                      const Builder& builder) {
  return !network.head || !has_many_classes(train.loss, network, builder) ||
         !train.metrics.empty() || has_few_rows(train, network, builder);
}

Result<ValueId> example_losses(Builder& builder, const std::string& loss,
                               const Network& network, ValueId labels,
                               bool whole_logits) {
  PLIMSOLL_RETURN_IF_ERROR(check_loss(loss));
  builder.set_scope("loss");
  if (!whole_logits) {
    const LinearHead& head = *network.head;
    builder.set_place(head.place);
    const ValueId losses = ops::per_example_mean(
        builder, ops::linear_cross_entropy(builder, head.x, head.weight, labels,
                                           head.transposed, head.bias));
    builder.set_place(graph::Place::home);
    return losses;
  }
  if (loss == "binary_crossentropy") {
    return network.last_activation == "sigmoid"
               ? ops::binary_cross_entropy_logits(builder, network.logits,
                                                  labels)
               : ops::binary_cross_entropy(builder, network.output, labels);
  }
  if (loss == "mean_squared_error") {
    return ops::mean_squared_error(builder, network.output, labels);
  }
  if (loss == "mean_absolute_error") {
    return ops::mean_absolute_error(builder, network.output, labels);
  }
  if (loss == "categorical_crossentropy") {
    return ops::per_example_mean(
        builder, ops::softmax_cross_entropy(builder, network.logits, labels));
  }
  return ops::per_example_mean(builder, ops::sparse_softmax_cross_entropy(
                                            builder, network.logits, labels));
}

Status check_loss(const std::string& name) {
  const std::span known(kLossNames);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("unknown loss `{}`: known are {}", name,
                           fmt::join(known, ", "))};
}

Status check_metric(const std::string& name) {
  const std::span known(kMetricNames);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("unknown metric `{}`: known are {}", name,
                           fmt::join(known, ", "))};
}

std::string metric_mismatch(const std::string& metric,
                            const std::string& loss) {
  if (metric == "accuracy" || is_sparse(metric) == is_sparse(loss)) return "";
  if (metric.starts_with("mean_")) {
    return fmt::format(
        "metric {} needs dense labels, but loss {} takes class indices", metric,
        loss);
  }
  return fmt::format("metric {} does not fit the labels that loss {} takes",
                     metric, loss);
}

Result<ValueId> example_metric(Builder& builder, const std::string& metric,
                               const std::string& loss, const Network& network,
                               ValueId labels) {
  PLIMSOLL_RETURN_IF_ERROR(check_metric(metric));
  const std::string name =
      metric == "accuracy" ? resolve_accuracy(loss, network, builder) : metric;
  builder.set_scope(metric);
  if (const std::string why = metric_mismatch(metric, loss); !why.empty()) {
    return Error{ErrorCode::bad_input, why};
  }
  if (name == "binary_accuracy") {
    return network.last_activation == "sigmoid"
               ? ops::binary_accuracy_logits(builder, network.logits, labels)
               : ops::binary_accuracy(builder, network.output, labels);
  }
  if (name == "categorical_accuracy") {
    return ops::categorical_accuracy(builder, network.logits, labels);
  }
  if (name == "sparse_categorical_accuracy") {
    return ops::sparse_categorical_accuracy(builder, network.logits, labels);
  }
  return name == "mean_squared_error"
             ? ops::mean_squared_error(builder, network.output, labels)
             : ops::mean_absolute_error(builder, network.output, labels);
}

std::vector<std::string> notes_on_loss(const TrainSpec& train,
                                       const Network& network,
                                       const Builder& builder) {
  const std::string& loss = train.loss;
  std::vector<std::string> notes;
  const bool categorical = loss == "categorical_crossentropy" ||
                           loss == "sparse_categorical_crossentropy";
  if (categorical && network.last_activation != "softmax") {
    notes.push_back(
        network.behind_softmax.empty()
            ? fmt::format("loss {}: the model does not end in softmax, so its "
                          "outputs are taken as logits",
                          loss)
            : fmt::format("loss {}: behind the softmax of `{}` stands `{}`, "
                          "which does more than move whole rows of classes, "
                          "so the model's outputs are taken as logits: the "
                          "loss applies softmax to them once more",
                          loss, network.softmax_layer, network.behind_softmax));
  }
  if (loss == "binary_crossentropy" && network.last_activation != "sigmoid") {
    notes.push_back(
        "loss binary_crossentropy: the model does not end in sigmoid, so its "
        "outputs are taken as probabilities");
  }
  if (!has_many_classes(loss, network, builder)) return notes;
  if (!network.head) {
    notes.push_back(fmt::format(
        "loss {}: the logits of {} classes are held whole: a last `dense` "
        "without an activation, or with softmax{}{}, can be part of the loss, "
        "which then holds some rows of them at a time",
        loss, builder.type(network.output).shape.extent(-1),
        // A narrower layer's sums would be f32.
        train.precision == DType::f64 ? ", in f64 as the job" : "",
        train.metrics.empty() ? "" : ", and without metrics"));
  } else if (!logits_are_whole(train, network, builder)) {
    notes.push_back(
        fmt::format("loss {}: the last product is part of the loss, so that "
                    "the logits are never held whole",
                    loss));
  } else if (!has_few_rows(train, network, builder)) {
    notes.push_back(
        fmt::format("metric {} needs the logits, which are therefore held "
                    "whole: without metrics they would not be",
                    train.metrics.front()));
  }
  return notes;
}

}  // namespace plimsoll::train
