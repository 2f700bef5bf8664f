#include "plimsoll/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include "train/fit.h"
#include "train/model_impl.h"
#include "train/plan_report_json.h"

namespace plimsoll {
namespace {

using train::Stage;
using train::throw_error;
using train::throw_if_error;
using train::value_or_throw;

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

}  // namespace

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

void Model::compile(Session& session, CompileOptions options) {
  impl_->let_go();
  impl_->join(session.state());
  impl_->options = std::move(options);
}

Plan Model::plan(const data::Dataset& data) const {
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

std::string Model::summary(const data::Dataset& data) const {
  const auto prepared = impl_->prepare({{Stage::train, &data}}, 1);
  return train::layers_text(
      train::layer_rows(prepared->job, prepared->planned));
}

FitHistory Model::fit(const data::Dataset& data, FitOptions options) {
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

Evaluation Model::evaluate(const data::Dataset& data) {
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

std::vector<float> Model::predict(const data::Dataset& data) {
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

std::vector<double> Model::weights(const std::string& name) const {
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
