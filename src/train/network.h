// Layers become nodes: the forward pass of a model.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "train/job_spec.h"
#include "train/layers/layer_context.h"

namespace plimsoll::train {

struct Network {
  graph::ValueId output;
  // Of the last layer: see LayerResult.
  graph::ValueId logits;
  std::string last_activation;
  std::string softmax_layer;
  std::string behind_softmax;
  std::optional<LinearHead> head;
  std::vector<Parameter> parameters;
  std::vector<Parameter> statistics;  // of batches: no gradient moves them
  std::vector<graph::TensorType> layer_types;  // what each layer gives
};

// Names of layers, as given or type_1, type_2, ... as Keras counts them.
std::vector<std::string> layer_names(const ModelSpec& model);
bool uses_dropout(const ModelSpec& model);
// Whether examples are class indices: an embedding reads the model's input, as
// it is or by way of layers that only move it.
bool takes_indices(const ModelSpec& model);
// Columns [begin, end) of the input's last axis that an embedding of so many
// rows reads, as they are or by way of slices and of layers that move them.
struct IndexColumns {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t rows = 0;
};
std::vector<IndexColumns> index_columns(const ModelSpec& model);
// Such a model's results depend on which examples share a batch: half a batch
// twice is not the same as the whole.
bool uses_batch_statistics(const ModelSpec& model);

// Whether layers can compute in what they say inside a job of `precision`.
Status check_precisions(const ModelSpec& model, DType precision);

// What the layers that read the model's input compute in, or the master type
// where they differ.
DType input_dtype(const ModelSpec& model, DType precision);

// The network of a model's own input, for what its shapes alone tell.
Result<Network> build_shapes(graph::Builder& builder, const ModelSpec& model,
                             DType precision = DType::f32);

// Errors name the layer, the shapes and what was expected. Output and logits
// are of the master type, and so are sums of the head's products.
Result<Network> build_network(graph::Builder& builder, const ModelSpec& model,
                              graph::ValueId input,
                              const NetworkOptions& options);

}  // namespace plimsoll::train
