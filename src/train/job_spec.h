// A job as the job file (or the C++ API) states it: plain values, checked for
// form but not yet for sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "data/recipe.h"

namespace plimsoll::train {

// One layer with the names of Keras. Fields not of its type stay unset.
struct LayerSpec {
  std::string type;        // of layer_types() in job_file/job_names.h
  std::string name;        // default: type_1, type_2, ...
  std::int64_t units = 0;  // dense
  std::string activation;  // dense, activation: relu, sigmoid, ... or empty
  bool use_bias = true;    // dense
  std::string kernel_initializer = "glorot_uniform";
  std::string bias_initializer = "zeros";
  std::int64_t input_dim = 0;   // embedding: rows of its table
  std::int64_t output_dim = 0;  // embedding: width of a row
  std::string embeddings_initializer = "random_uniform";
  double rate = 0;              // dropout
  double negative_slope = 0.2;  // leaky_relu
  double epsilon = 1e-3;        // *_normalization; rms: 1e-6
  bool scale = true;            // layer_, group_, batch_normalization
  bool center = true;           // likewise
  std::int64_t groups = 32;     // group_normalization
  double momentum = 0.99;       // batch_normalization
  std::string device;           // cpu, cuda:0; default: the job's
  std::string where;            // "mlp.toml:4: model.layers[1]", for errors
};

struct ModelSpec {
  std::vector<std::int64_t> input;
  std::vector<LayerSpec> layers;
};

struct DataSpec {
  data::Recipe source;                     // of data::source_defs()
  std::optional<data::Recipe> validation;  // evaluated after each epoch
  std::string residency = "stream";        // or "memory"
  std::int64_t share_bytes = 0;            // of the pipeline; 0: no own limit
  // Elements in the same order every time, whichever is ready first.
  bool ordered = true;
  std::vector<data::Recipe> pipeline;  // of data::stage_defs()
};

struct OptimizerSpec {
  std::string type = "adam";  // sgd, adam, adamw
  double learning_rate = 0.001;
  double momentum = 0;  // sgd
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0.004;  // adamw
};

struct TrainSpec {
  std::int64_t batch = 32;
  std::int64_t epochs = 1;
  OptimizerSpec optimizer;
  std::string loss;
  std::vector<std::string> metrics;
  DType precision = DType::f32;
  bool tf32 = false;  // products of f32 may round their operands, on CUDA
  std::int64_t seed = 1;
};

struct MemorySpec {
  std::optional<std::string> host;
  std::optional<std::string> device;
  bool pinned = true;  // staging that a device copies from
  bool growth = true;  // false: the whole budget is taken at the start
};

struct JobSpec {
  std::string path;  // of the job file, for errors
  ModelSpec model;
  DataSpec data;
  TrainSpec train;
  MemorySpec memory;
};

}  // namespace plimsoll::train
