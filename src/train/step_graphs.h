// The graphs of a job, once, with the batch symbol still open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "train/job_spec.h"
#include "train/network.h"
#include "train/objective.h"
#include "train/optimizer.h"

namespace plimsoll::train {

// Names of the states that the training loop itself sets or reads.
inline constexpr const char* kRandomStep = "random_step";
// Of losses whose gradients go through f16; see ops::scale_step.
inline constexpr const char* kLossScale = "loss_scale";
inline constexpr const char* kGoodSteps = "good_steps";
// 1 / examples of the whole step: losses never divide by a micro-batch.
inline constexpr const char* kInverseExamples = "inverse_examples";
// Where gradients of several batches are summed: the examples that their shares
// stand for over those that there were. 1 but in an epoch's last group.
inline constexpr const char* kGroupScale = "group_scale";
std::string gradient_sum(const std::string& parameter);
// Sums over examples since the epoch began.
inline constexpr const char* kLossSum = "metric/loss";
std::string metric_sum(const std::string& metric);

struct StepGraphs {
  graph::Graph train;  // inputs: features, labels
  // Without inputs: the update from summed gradients, which `train` then adds
  // to. Empty where each batch has its own update.
  graph::Graph update;
  graph::Graph evaluate;  // inputs: features, labels
  graph::Graph predict;   // input: features; output: predictions
  DType features = DType::f32;
  LabelType labels;
  graph::TensorType output;                    // of the model
  std::vector<graph::TensorType> layer_types;  // what each layer gives
  std::vector<Parameter> parameters;
  std::vector<Parameter> statistics;
  std::vector<StartValue> starts;  // of the optimizer
  std::vector<std::string> notes;
};

// `stored_label` is one example's label in the data, `home` the job's device.
// Features enter in what the first layers compute in, or as class indices.
Result<StepGraphs> build_step_graphs(
    const ModelSpec& model, const TrainSpec& train, const Shape& stored_label,
    const std::string& home, std::optional<DType> indices = std::nullopt);

}  // namespace plimsoll::train
