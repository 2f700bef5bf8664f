// What a layer sees while it becomes nodes.
#pragma once

#include <optional>
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
  // Elements that start at 1 whatever the initializer says: [begin, end).
  std::int64_t ones_begin = 0;
  std::int64_t ones_end = 0;
};

struct NetworkOptions {
  // Dropout acts only in training, and only there batches are normalized by
  // statistics of their own.
  bool training = false;
  std::int64_t seed = 1;
  graph::ValueId random_step;    // counter; needed when training with dropout
  std::string home = "cpu";      // the job's device; empty: any will do
  DType precision = DType::f32;  // of layers that have none of their own
};

// A product whose result a loss can do without.
struct LinearHead {
  graph::Place place = graph::Place::home;  // where the layer runs
  graph::ValueId x;
  graph::ValueId weight;
  bool transposed = false;                  // the weight is [V, D]
  std::optional<graph::ValueId> bias = {};  // as it is kept
};

// What a layer makes.
struct LayerResult {
  graph::ValueId value;
  // The value before a sigmoid or softmax, and which of them: losses work on
  // logits where they can, because that is numerically safe.
  graph::ValueId logits;
  std::string activation = "linear";
  // Whose softmax the value was, and which layer without parameters behind it
  // was the first to do more than move its rows; for notes.
  std::string softmax_layer;
  std::string behind_softmax;
  std::optional<LinearHead> head;  // where the logits are of a product alone

  explicit LayerResult(graph::ValueId made = {}) : value(made), logits(made) {}
};

class LayerContext {
 public:
  LayerContext(graph::Builder& graph, const NetworkOptions& how,
               const LayerSpec& stated, std::string called, int number,
               std::vector<graph::ValueId> given,
               std::vector<Parameter>& all_parameters,
               std::vector<Parameter>& all_statistics)
      : builder(graph),
        options(how),
        layer(stated),
        name(std::move(called)),
        position(number),
        inputs(std::move(given)),
        parameters_(all_parameters),
        statistics_(all_statistics) {}

  graph::Builder& builder;
  const NetworkOptions& options;
  const LayerSpec& layer;
  const std::string name;
  const int position;  // in the model
  std::vector<graph::ValueId> inputs;
  std::optional<graph::ValueId> mask;  // what the layer's `mask` names

  graph::ValueId x() const { return inputs.front(); }
  // Good until the next node is emitted.
  const Shape& shape(std::size_t input = 0) const {
    return builder.type(inputs[input]).shape;
  }
  std::int64_t channels() const { return shape().extent(-1); }
  bool reads_indices() const { return !is_floating(builder.type(x()).dtype); }

  // Names the place in the file, and the layer.
  Error wrong(const std::string& what) const;

  // What the layer computes in; its floating inputs are given as that.
  DType dtype() const;

  // Every trainable value is made by one of these, as a state of the job's
  // master type. This gives it in the layer's own dtype: one cast a step, for
  // forward and backward.
  graph::ValueId parameter(const std::string& suffix, Shape shape,
                           const std::string& initializer, std::int64_t fan_in,
                           std::int64_t fan_out);
  // As it is kept.
  graph::ValueId master(const std::string& suffix, Shape shape,
                        const std::string& initializer, std::int64_t fan_in,
                        std::int64_t fan_out);
  // One value a channel that training moves, but no gradient. It is never of
  // two bytes; neither are gamma and beta.
  DType statistics_dtype() const;
  graph::ValueId statistic(const std::string& suffix, std::int64_t channels,
                           const std::string& initializer);
  // "embedding_1/embeddings" of a layer above, or null.
  const Parameter* find_parameter(const std::string& full_name) const;

  // By a vector of one value a channel, which starts as bias_initializer says.
  graph::ValueId add_bias(graph::ValueId value, std::int64_t channels);
  // Of the bias that was added.
  void start_bias_at_one(std::int64_t begin, std::int64_t end);
  // The layer's own activation.
  LayerResult activate(graph::ValueId value) const;

 private:
  std::vector<Parameter>& parameters_;
  std::vector<Parameter>& statistics_;
};

}  // namespace plimsoll::train
