// A job as the job file (or the C++ API) states it: plain values, checked for
// form but not yet for sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "data/recipe.h"
#include "plimsoll/layers.h"

namespace plimsoll::train {

// One layer with the names of Keras.
struct LayerSpec : Layer {
  std::string where;  // "mlp.toml:4: model.layers[1]", for errors
};

// The word for the model's input, among the names of layers.
inline constexpr const char* kModelInput = "input";

struct ModelSpec {
  std::vector<std::int64_t> input;
  std::vector<LayerSpec> layers;  // the last one's value is the output
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

// What a type reads is in train/schedule.cpp.
struct ScheduleSpec {
  std::string type;  // empty: the rate stays as it is
  double initial_learning_rate = 0;
  double decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;
  double alpha = 0;
  double warmup_target = 0;  // 0: no warm-up
  double warmup_steps = 0;
  std::vector<double> boundaries;
  std::vector<double> values;
};

// What a type reads is in train/optimizer_keys.cpp.
struct OptimizerSpec {
  std::string type = "adam";
  double learning_rate = 0.001;
  ScheduleSpec schedule;  // instead of the rate
  double momentum = 0;    // sgd, rmsprop
  bool nesterov = false;  // sgd
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0.004;             // adamw, lamb
  double rho = 0.9;                        // rmsprop
  bool centered = false;                   // rmsprop
  double initial_accumulator_value = 0.1;  // adagrad
  double beta_2_decay = -0.8;              // adafactor
  double epsilon_1 = 1e-30;                // adafactor
  double epsilon_2 = 1e-3;                 // adafactor
  double clip_threshold = 1;               // adafactor
  // One of them at the most; 0: none.
  double clipnorm = 0;
  double clipvalue = 0;
  double global_clipnorm = 0;
};

inline constexpr std::int64_t kMostAccumulationSteps = 1'000'000;

struct TrainSpec {
  std::int64_t batch = 32;
  std::int64_t epochs = 1;
  OptimizerSpec optimizer;
  std::string loss;
  std::vector<std::string> metrics;
  DType precision = DType::f32;
  bool tf32 = false;  // products of f32 may round their operands, on CUDA
  std::int64_t seed = 1;
  // Batches whose gradients are summed for one update.
  std::int64_t accumulation_steps = 1;
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
