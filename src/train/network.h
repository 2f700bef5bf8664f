// Layers become nodes: the forward pass of a Sequential model.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "train/job_spec.h"

namespace plimsoll::train {

// A trainable value and how it starts.
struct Parameter {
  std::string name;  // "dense_1/kernel"
  graph::ValueId value;
  std::string initializer;
  std::int64_t fan_in = 1;
  std::int64_t fan_out = 1;
};

struct Network {
  graph::ValueId output;
  // The last layer's value before a sigmoid or softmax, and which of them:
  // losses work on logits where they can, because that is numerically safe.
  graph::ValueId logits;
  std::string last_activation;
  std::vector<Parameter> parameters;
  std::vector<Parameter> statistics;  // of batches: no gradient moves them
};

struct NetworkOptions {
  // Dropout acts only in training, and only there batches are normalized by
  // statistics of their own.
  bool training = false;
  std::int64_t seed = 1;
  graph::ValueId random_step;    // counter; needed when training with dropout
  std::string home = "cpu";      // the job's device
  DType precision = DType::f32;  // of parameters behind class indices
};

// Names of layers, as given or type_1, type_2, ... as Keras counts them.
std::vector<std::string> layer_names(const ModelSpec& model);
bool uses_dropout(const ModelSpec& model);
// Whether examples are class indices: the first layer is an embedding.
bool takes_indices(const ModelSpec& model);
// Such a model's results depend on which examples share a batch: half a batch
// twice is not the same as the whole.
bool uses_batch_statistics(const ModelSpec& model);

// Errors name the layer, the shapes and what was expected.
Result<Network> build_network(graph::Builder& builder, const ModelSpec& model,
                              graph::ValueId input,
                              const NetworkOptions& options);

}  // namespace plimsoll::train
