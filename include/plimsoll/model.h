// A model that is planned before it takes memory, and trained inside the line.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/callbacks.h"
#include "plimsoll/data.h"
#include "plimsoll/layers.h"
#include "plimsoll/objective.h"
#include "plimsoll/session.h"

namespace plimsoll {

struct CompileOptions {
  Optimizer optimizer = Adam{};
  Loss loss = mean_squared_error;
  std::vector<std::string> metrics = {};
  // f32, f64, or bf16 or f16 for what lies between parameters and losses.
  std::string precision = "f32";
  std::int64_t seed = 1;
  // One update for this many batches, with the mean gradient of their examples;
  // the last, shorter group of an epoch has its update at the epoch's end.
  std::int64_t accumulation_steps = 1;
};

struct FitOptions {
  std::int64_t epochs = 1;
  // Evaluated after each epoch: val_loss and so on.
  const data::Dataset* validation = nullptr;
  // Called a few times a second with the epoch (from 1) and the mean loss.
  std::function<void(std::int64_t epoch, double loss)> on_progress = {};
  std::vector<std::shared_ptr<Callback>> callbacks = {};
};

struct FitHistory {
  std::vector<double> loss;                            // by epoch
  std::map<std::string, std::vector<double>> metrics;  // by name, by epoch
  double examples_per_second = 0;
  std::int64_t forecast_host_bytes = 0;    // planned pools
  std::int64_t measured_host_bytes = 0;    // counted at the system's own call
  std::int64_t forecast_device_bytes = 0;  // likewise; 0 on the CPU
  std::int64_t measured_device_bytes = 0;
};

struct Evaluation {
  double loss = 0;
  std::map<std::string, double> metrics;
};

// What fit() would take, known before it takes it.
class Plan {
 public:
  bool fits() const { return fits_; }
  std::int64_t host_peak_bytes() const { return host_peak_bytes_; }
  std::int64_t device_peak_bytes() const { return device_peak_bytes_; }
  // The smallest batch, up to 65,536, at which each memory passes its budget.
  std::optional<std::int64_t> host_exhausts_at() const {
    return host_exhausts_at_;
  }
  std::optional<std::int64_t> device_exhausts_at() const {
    return device_exhausts_at_;
  }
  // "host", "device", or empty where neither runs out.
  const std::string& first_to_exhaust() const { return first_to_exhaust_; }
  // A table for people: accounts, at which batch each memory runs out, and
  // where it does not fit, what would.
  const std::string& summary() const { return summary_; }
  // The object of `plimsoll plan --json`.
  const std::string& json() const { return json_; }

 private:
  friend class Model;
  bool fits_ = false;
  std::int64_t host_peak_bytes_ = 0;
  std::int64_t device_peak_bytes_ = 0;  // 0 on the CPU
  std::optional<std::int64_t> host_exhausts_at_, device_exhausts_at_;
  std::string first_to_exhaust_;
  std::string summary_;
  std::string json_;
};

// Layers with branches and skips, from the input to the output:
//   auto x = pl::Input({224, 224, 3});
//   auto y = pl::Dense(10)(pl::Flatten()(x));
//   pl::Model model(x, y);
class Model {
 public:
  // Throws Exception (bad_input) where the output does not come from the input
  // alone, or where layers do not fit together: it names the layer, the shapes
  // and what was expected. A Sequential learns its input's shape, and does so,
  // with the first data.
  Model(const LayerOutput& input, const LayerOutput& output);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Compiled again, as for a lower rate, a model keeps its weights, also into
  // another session and in another precision; the optimiser's state starts
  // anew. The weights are the session's: they go when it is closed or goes.
  void compile(Session& session, CompileOptions options = {});

  Plan plan(const data::Dataset& data) const;
  // Throws Exception (does_not_fit) before anything is allocated when the plan
  // does not fit: the text says why and, where there is no validation, what
  // would help. Weights and optimiser state carry over between calls.
  FitHistory fit(const data::Dataset& data, FitOptions options = {});
  Evaluation evaluate(const data::Dataset& data);
  // The model's outputs for all examples, row-major.
  std::vector<float> predict(const data::Dataset& data);

  // A parameter's values by name ("dense_1/kernel"), after fit().
  std::vector<double> weights(const std::string& name) const;

  // Parameters and moving statistics as a safetensors file, in the type that
  // they are trained in (f32, or f64). The file appears whole or not at all.
  // After fit(), or in a callback of one.
  void save_weights(const std::string& path) const;
  // The file must have the model's weights by name and type and nothing else;
  // a checkpoint's are taken from among its states. Otherwise it throws, says
  // what is missing, not expected or different, and changes nothing. The
  // optimiser's state stays. Before the first fit() the file is opened here,
  // and compared and read when a job has memory for the values.
  void load_weights(const std::string& path);

  // Each layer's type, output, parameters and bytes when it is trained on this
  // data: parameters with the optimiser's state, and what it keeps for the
  // backward pass.
  std::string summary(const data::Dataset& data) const;
  // The section [model] of a job file. A Sequential's has no input until the
  // file's own data gives it one.
  std::string to_toml() const;
  // How many trainable numbers it has, for an input of this shape (or the
  // model's own).
  std::int64_t parameters(std::vector<std::int64_t> input = {}) const;

 protected:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);

 private:
  Impl& impl() const;  // throws where the model was moved from

  std::unique_ptr<Impl> impl_;
};

// Layers one after the other. The input's shape is that of the data.
class Sequential : public Model {
 public:
  Sequential(std::initializer_list<Layer> layers);
  explicit Sequential(std::vector<Layer> layers);
};

}  // namespace plimsoll
