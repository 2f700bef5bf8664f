#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include "base/units.h"
#include "plimsoll/device.h"
#include "plimsoll/model.h"
#include "train/dataset.h"
#include "train/fit.h"
#include "train/plan_report_json.h"
#include "train/report.h"
#include "train/reserve.h"
#include "train/running_job.h"
#include "train/session_state.h"

namespace plimsoll {
namespace {

using train::JobData;
using train::JobSpec;
using train::PlannedJob;
using train::RunningJob;
using train::Stage;
using train::throw_error;
using train::throw_if_error;
using train::value_or_throw;

train::LayerSpec spec_of(const Layer& layer) {
  train::LayerSpec spec;
  spec.type = layer.type;
  spec.name = layer.name;
  spec.units = layer.units;
  spec.activation = layer.activation;
  spec.use_bias = layer.use_bias;
  spec.kernel_initializer = layer.kernel_initializer;
  spec.bias_initializer = layer.bias_initializer;
  spec.input_dim = layer.input_dim;
  spec.output_dim = layer.output_dim;
  spec.embeddings_initializer = layer.embeddings_initializer;
  spec.rate = layer.rate;
  spec.negative_slope = layer.negative_slope;
  spec.epsilon = layer.epsilon;
  spec.scale = layer.scale;
  spec.center = layer.center;
  spec.groups = layer.groups;
  spec.momentum = layer.momentum;
  spec.device = layer.device;
  return spec;
}

train::OptimizerSpec spec_of(const Optimizer& optimizer) {
  train::OptimizerSpec spec;
  if (const auto* adam = std::get_if<Adam>(&optimizer)) {
    spec.type = "adam";
    spec.learning_rate = adam->learning_rate;
    spec.beta_1 = adam->beta_1;
    spec.beta_2 = adam->beta_2;
    spec.epsilon = adam->epsilon;
  } else if (const auto* adamw = std::get_if<AdamW>(&optimizer)) {
    spec.type = "adamw";
    spec.learning_rate = adamw->learning_rate;
    spec.weight_decay = adamw->weight_decay;
    spec.beta_1 = adamw->beta_1;
    spec.beta_2 = adamw->beta_2;
    spec.epsilon = adamw->epsilon;
  } else {
    const auto& sgd = std::get<SGD>(optimizer);
    spec.type = "sgd";
    spec.learning_rate = sgd.learning_rate;
    spec.momentum = sgd.momentum;
  }
  return spec;
}

// Bytes that the systems of both memories have given out.
struct Mapped {
  std::int64_t host = 0;
  std::int64_t device = 0;
};

Mapped mapped(train::Machine& machine) {
  CudaDevice* const device = machine.device();
  return {machine.host().mapped_bytes(),
          device != nullptr ? device->memory().mapped_bytes() : 0};
}

Layer layer_of(const char* type) {
  Layer layer;
  layer.type = type;
  layer.device = current_device();
  return layer;
}

}  // namespace

Layer Dense(std::int64_t units, ActivationFunction activation) {
  Layer layer = layer_of("dense");
  layer.units = units;
  layer.activation = activation.name;
  return layer;
}

Layer Activation(ActivationFunction activation) {
  Layer layer = layer_of("activation");
  layer.activation = activation.name;
  return layer;
}

Layer Dropout(double rate) {
  Layer layer = layer_of("dropout");
  layer.rate = rate;
  return layer;
}

Layer Flatten() { return layer_of("flatten"); }

Layer Embedding(std::int64_t input_dim, std::int64_t output_dim) {
  Layer layer = layer_of("embedding");
  layer.input_dim = input_dim;
  layer.output_dim = output_dim;
  return layer;
}

Layer LayerNormalization(double epsilon) {
  Layer layer = layer_of("layer_normalization");
  layer.epsilon = epsilon;
  return layer;
}

Layer RMSNormalization(double epsilon) {
  Layer layer = layer_of("rms_normalization");
  layer.epsilon = epsilon;
  return layer;
}

Layer GroupNormalization(std::int64_t groups, double epsilon) {
  Layer layer = layer_of("group_normalization");
  layer.groups = groups;
  layer.epsilon = epsilon;
  return layer;
}

Layer BatchNormalization(double momentum, double epsilon) {
  Layer layer = layer_of("batch_normalization");
  layer.momentum = momentum;
  layer.epsilon = epsilon;
  return layer;
}

// A job over some data, planned for this model. Kept on the heap: programs
// refer to the plan by address.
struct PreparedJob {
  JobSpec job;
  JobData data;
  PlannedJob planned;
};

struct Sequential::Impl final : train::SessionUser {
  std::vector<Layer> layers;
  CompileOptions options;
  train::KeptStates kept;

  // Not the Session, which can be moved.
  train::SessionState& state() const {
    if (!joined()) {
      throw_error({ErrorCode::bad_input,
                   "the model is not compiled: call compile() first"});
    }
    return *joined();
  }

  void let_go() noexcept override { kept = {}; }

  std::unique_ptr<PreparedJob> prepare(
      std::initializer_list<std::pair<Stage, const data::Dataset*>> sets,
      std::int64_t epochs) const {
    auto prepared = std::make_unique<PreparedJob>();
    train::SessionState& place = state();
    JobSpec& job = prepared->job;
    for (const Layer& layer : layers)
      job.model.layers.push_back(spec_of(layer));
    job.train.optimizer = spec_of(options.optimizer);
    job.train.loss = options.loss.name;
    job.train.metrics = options.metrics;
    job.train.seed = options.seed;
    job.train.epochs = epochs;
    const auto precision = parse_dtype(options.precision);
    if (!precision) {
      throw_error(
          {ErrorCode::bad_input,
           fmt::format("precision \"{}\": use f32 or f64", options.precision)});
    }
    job.train.precision = *precision;
    bool first = true;
    for (const auto& [stage, set] : sets) {
      if (!set) continue;
      const auto i = static_cast<std::size_t>(stage);
      train::DataSpec stated;
      throw_if_error(train::state_data(*set, stated));
      if (first) {
        job.train.batch = set->batch_size;
        job.data = stated;
        prepared->data.resident = set->in_memory;
      }
      auto how = train::pipeline_options(job, stage,
                                         place.machine().profile().threads);
      // A random validation set must not repeat the training set.
      how.seed += stage == Stage::train ? 0 : 1;
      prepared->data.openers[i] = [how, recipe = stated.source] {
        return data::open_source(recipe, how);
      };
      data::Source source = value_or_throw(prepared->data.openers[i]());
      prepared->data.sources[i] = source.set;
      if (set->tuned && !set->in_memory) {
        prepared->data.costs[i] = value_or_throw(data::measure_pipeline(
            prepared->data.openers[i], stated.pipeline, how));
      }
      prepared->data.inputs[i] = value_or_throw(train::pipe(
          job, stage, place.machine().profile().threads, std::move(source)));
      if (!first) continue;
      first = false;
      const auto& field = prepared->data.inputs[i]->features_field();
      for (int axis = 0; axis < field.shape.rank; ++axis) {
        job.model.input.push_back(field.shape[axis]);
      }
    }
    prepared->planned = value_or_throw(
        train::plan_programs(job, prepared->data, place.machine()));
    check_against_kept(*prepared);
    train::reserve_rest(place.place(),
                        {held_bytes(Space::host), held_bytes(Space::device)},
                        prepared->planned);
    return prepared;
  }

  // Weights have the shape that the first data gave them.
  void check_against_kept(const PreparedJob& prepared) const {
    for (const plan::StateNeed& now : prepared.planned.needs.states) {
      for (const plan::StateNeed& before : kept.states) {
        if (now.name != before.name || now.type == before.type) continue;
        throw_error(
            {ErrorCode::bad_input,
             fmt::format("{}: these examples need `{}` as {}, but the model "
                         "has it as {} from earlier data",
                         prepared.data.first().input.description, now.name,
                         now.type.to_string(), before.type.to_string())});
      }
    }
  }

  // What the session's models and iterators hold already, this one's states
  // among it.
  std::int64_t held_bytes(Space space) const {
    return state().machine().ledger().held_bytes(space);
  }

  train::PlanReport report(const PreparedJob& prepared) const {
    const train::SessionState& place = state();
    train::PlanReport made = train::report_on(
        prepared.job, prepared.planned, place.budget(), place.device_budget());
    if (!made.fits) return made;
    const auto check = [&](const char* name, const plan::SpaceForecast& needs,
                           std::int64_t held, const Budget& budget) {
      if (!made.fits || needs.peak_bytes + held <= budget.bytes) return;
      made.fits = false;
      made.refusal = fmt::format(
          "the job needs {} of {} memory beside the {} that the session's "
          "models hold, more than the budget of {} ({})",
          format_bytes(needs.peak_bytes), name, format_bytes(held),
          format_bytes(budget.bytes), budget.source);
    };
    check("host", made.plan.host, held_bytes(Space::host), place.budget());
    if (made.plan.device) {
      check("device", *made.plan.device, held_bytes(Space::device),
            *place.device_budget());
    }
    return made;
  }

  std::unique_ptr<RunningJob> open(PreparedJob& prepared) const {
    train::SessionState& place = state();
    place.check_trains();
    {
      const train::PlanReport verdict = report(prepared);
      if (!verdict.fits) {
        throw_error({ErrorCode::does_not_fit, train::refusal_text(verdict)});
      }
    }
    place.use_device();
    auto running = value_or_throw(RunningJob::open(
        prepared.job, prepared.planned, prepared.data, place.machine()));
    if (const auto& device = prepared.planned.plan.device) {
      throw_if_error(place.machine().check_device(place.line().device_bytes,
                                                  device->peak_bytes));
    }
    throw_if_error(running->restore(kept));
    return running;
  }

  // Runs every batch of a stage through `each`.
  template <class Each>
  void run_stage(RunningJob& running, Stage stage, const Each& each) const {
    Status status;
    state().machine().threads().enter([&] {
      data::BatchFeeder& feeder = *running.feeder(stage);
      status = feeder.start({});
      while (status.ok()) {
        auto batch = feeder.next();
        if (!batch) {
          status = std::move(batch).error();
          break;
        }
        if (batch->examples == 0) break;
        status = running.step(stage, *batch);
        if (status.ok()) status = each(batch->examples);
      }
    });
    throw_if_error(status);
  }
};

Sequential::Sequential(std::initializer_list<Layer> layers)
    : Sequential(std::vector<Layer>(layers)) {}

Sequential::Sequential(std::vector<Layer> layers)
    : impl_(std::make_unique<Impl>()) {
  impl_->layers = std::move(layers);
}

Sequential::~Sequential() = default;
Sequential::Sequential(Sequential&&) noexcept = default;
Sequential& Sequential::operator=(Sequential&&) noexcept = default;

void Sequential::compile(Session& session, CompileOptions options) {
  impl_->let_go();
  impl_->join(session.state());
  impl_->options = std::move(options);
}

Plan Sequential::plan(const data::Dataset& data) const {
  const auto prepared = impl_->prepare({{Stage::train, &data}}, 1);
  const train::PlanReport report = impl_->report(*prepared);
  Plan plan;
  plan.fits_ = report.fits;
  plan.host_peak_bytes_ =
      report.plan.host.peak_bytes + impl_->held_bytes(Space::host);
  if (report.plan.device) {
    plan.device_peak_bytes_ =
        report.plan.device->peak_bytes + impl_->held_bytes(Space::device);
  }
  plan.summary_ = train::summary_text(report);
  plan.json_ = train::to_json(report, false);
  return plan;
}

FitHistory Sequential::fit(const data::Dataset& data, FitOptions options) {
  const auto prepared = impl_->prepare(
      {{Stage::train, &data}, {Stage::evaluate, options.validation}},
      options.epochs);
  const train::SessionState::Running busy(impl_->state());
  auto& machine = impl_->state().machine();
  const Mapped before = mapped(machine);
  auto running = impl_->open(*prepared);
  const Mapped opened = mapped(machine);
  impl_->kept = {};  // copied: the job holds the states now
  const Mapped started = mapped(machine);
  train::FitHooks hooks;
  // What the caller's function throws waits until the states are kept.
  std::exception_ptr thrown;
  std::atomic<bool> stop = false;
  hooks.stop = &stop;
  if (options.on_progress) {
    hooks.on_progress = [&](const train::Progress& progress) {
      if (thrown) return;
      try {
        options.on_progress(progress.epoch, progress.loss);
      } catch (...) {
        thrown = std::current_exception();
        stop = true;
      }
    };
  }
  auto record = train::fit(prepared->job, *running, prepared->data, machine,
                           impl_->state().line(), {}, hooks);
  // Without what others hold. The states from before went when the job had
  // them.
  const auto taken = [&](std::int64_t Mapped::*space) {
    return mapped(machine).*space - before.*space + opened.*space -
           started.*space;
  };
  FitHistory history;
  history.forecast_host_bytes = prepared->planned.plan.host.pool_bytes;
  history.measured_host_bytes = taken(&Mapped::host);
  if (const auto& device = prepared->planned.plan.device) {
    history.forecast_device_bytes = device->pool_bytes;
    history.measured_device_bytes = taken(&Mapped::device);
  }
  impl_->kept = value_or_throw(std::move(*running).keep_states());
  if (thrown) std::rethrow_exception(thrown);
  throw_if_error(record ? Status() : Status(record.error()));
  history.loss = record->history.loss_by_epoch;
  history.metrics = record->history.metrics;
  if (record->timed_seconds > 0) {
    history.examples_per_second =
        static_cast<double>(record->timed_examples) / record->timed_seconds;
  }
  return history;
}

Evaluation Sequential::evaluate(const data::Dataset& data) {
  const auto prepared = impl_->prepare({{Stage::evaluate, &data}}, 1);
  const train::SessionState::Running busy(impl_->state());
  const auto running = impl_->open(*prepared);
  throw_if_error(running->clear_metrics());
  std::int64_t examples = 0;
  impl_->run_stage(*running, Stage::evaluate, [&](std::int64_t count) {
    examples += count;
    return Status();
  });
  Evaluation result;
  const auto count = static_cast<double>(examples);
  const auto sums = value_or_throw(running->metrics());
  result.loss = sums[0] / count;
  for (std::size_t i = 0; i < impl_->options.metrics.size(); ++i) {
    result.metrics[impl_->options.metrics[i]] = sums[i + 1] / count;
  }
  return result;
}

std::vector<float> Sequential::predict(const data::Dataset& data) {
  const auto prepared = impl_->prepare({{Stage::predict, &data}}, 1);
  const train::SessionState::Running busy(impl_->state());
  const auto running = impl_->open(*prepared);
  const std::int64_t width =
      prepared->planned.graphs.output.shape.at(1).elements();
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(
      width * std::max<std::int64_t>(
                  prepared->data.input(Stage::predict).examples(), 0)));
  const bool wide = prepared->job.train.precision == DType::f64;
  std::vector<double> batch_f64;
  std::vector<float> batch_f32;
  impl_->run_stage(
      *running, Stage::predict, [&](std::int64_t examples) -> Status {
        const auto count = static_cast<std::size_t>(examples * width);
        if (wide) {
          batch_f64.resize(count);
          PLIMSOLL_RETURN_IF_ERROR(running->read_prediction(
              examples, std::as_writable_bytes(std::span(batch_f64))));
          std::transform(
              batch_f64.begin(), batch_f64.end(), std::back_inserter(all),
              [](double value) { return static_cast<float>(value); });
        } else {
          batch_f32.resize(count);
          PLIMSOLL_RETURN_IF_ERROR(running->read_prediction(
              examples, std::as_writable_bytes(std::span(batch_f32))));
          all.insert(all.end(), batch_f32.begin(), batch_f32.end());
        }
        return {};
      });
  return all;
}

std::vector<double> Sequential::weights(const std::string& name) const {
  impl_->state().machine();  // throws once it is closed
  if (!impl_->kept.states.empty()) impl_->state().use_device();
  const auto bytes = value_or_throw(impl_->kept.read(name));
  if (bytes.empty()) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("the model has no weights named `{}` yet", name)});
  }
  std::vector<double> values;
  if (impl_->options.precision == "f64") {
    values.resize(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<float> narrow(bytes.size() / sizeof(float));
  std::memcpy(narrow.data(), bytes.data(), bytes.size());
  values.assign(narrow.begin(), narrow.end());
  return values;
}

}  // namespace plimsoll
