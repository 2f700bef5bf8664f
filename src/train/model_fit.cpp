// A model's training: a job over the data, with the caller's callbacks.
#include "train/callback_runner.h"
#include "train/fit.h"
#include "train/model_impl.h"

namespace plimsoll {
namespace {

using train::Stage;

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

FitHistory Model::fit(const data::Dataset& data, FitOptions options) {
  impl_->check_idle("fit");
  const auto prepared = impl_->prepare(
      {{Stage::train, &data}, {Stage::evaluate, options.validation}},
      options.epochs);
  const train::SessionState::Running busy(impl_->state());
  auto& machine = impl_->state().machine();
  const Mapped before = mapped(machine);
  auto running = impl_->open(*prepared);
  const Mapped opened = mapped(machine);
  // Copied: the job holds the states now.
  impl_->kept = {};
  impl_->weights_file.reset();
  const Mapped started = mapped(machine);
  impl_->fitting = running.get();
  train::CallbackRunner callbacks(
      *this, *running, prepared->data.input(Stage::train).examples(), options);
  train::History start = callbacks.begin();
  Result<train::FitRecord> record = Error{};
  if (!callbacks.has_thrown()) {
    record =
        train::fit(prepared->job, *running, prepared->data, machine,
                   impl_->state().line(), std::move(start), callbacks.hooks());
  }
  if (record) callbacks.end();
  impl_->fitting = nullptr;
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
  callbacks.rethrow();
  throw_if_error(record ? Status() : Status(record.error()));
  history.loss = record->history.loss_by_epoch;
  history.metrics = record->history.metrics;
  if (record->timed_seconds > 0) {
    history.examples_per_second =
        static_cast<double>(record->timed_examples) / record->timed_seconds;
  }
  return history;
}

}  // namespace plimsoll
