// A model's training: a job over the data, with the caller's callbacks.
#include <fmt/core.h>

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
  impl().check_idle("fit");
  if (options.epochs < 0) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("fit: epochs: must be an integer of at least 0, "
                             "not {}",
                             options.epochs)});
  }
  const auto prepared = impl().prepare(
      {{Stage::train, &data}, {Stage::evaluate, options.validation}},
      options.epochs);
  const train::SessionState::Running busy(impl().state());
  auto& machine = impl().state().machine();
  const Mapped before = mapped(machine);
  auto running = impl().open(*prepared);
  const Mapped opened = mapped(machine);
  // Copied: the job holds the states now.
  impl().kept = {};
  impl().weights_file.reset();
  const Mapped started = mapped(machine);
  impl().fitting = running.get();
  train::CallbackRunner callbacks(
      *this, *running, prepared->data.input(Stage::train).examples(), options);
  train::History start = callbacks.begin();
  Result<train::FitRecord> record = Error{};
  if (!callbacks.has_thrown()) {
    record =
        train::fit(prepared->job, *running, prepared->data, machine,
                   impl().state().line(), std::move(start), callbacks.hooks());
  }
  if (record) callbacks.end();
  impl().fitting = nullptr;
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
  impl().kept = value_or_throw(std::move(*running).keep_states());
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
