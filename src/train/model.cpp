#include "plimsoll/model.h"

#include <algorithm>

#include "train/full_batch.h"
#include "train/model_impl.h"
#include "train/plan_report_json.h"

namespace plimsoll {
namespace {

using train::Stage;

}  // namespace

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model::Impl& Model::impl() const {
  if (impl_) return *impl_;
  throw_error(
      {ErrorCode::bad_input, "the model was moved from: it has no layers"});
}

void Model::compile(Session& session, CompileOptions options) {
  impl().check_idle("compile");
  impl().check(options);
  impl().move_to(session.state());
  impl().options = std::move(options);
}

Plan Model::plan(const data::Dataset& data) const {
  const auto prepared = impl().prepare({{Stage::train, &data}}, 1);
  train::PlanReport report = impl().report(*prepared);
  impl().add_limits(*prepared, report);
  impl().add_remedies(*prepared, report);
  Plan plan;
  plan.fits_ = report.fits;
  plan.host_peak_bytes_ =
      report.plan.host.peak_bytes + impl().held_bytes(Space::host);
  if (report.plan.device) {
    plan.device_peak_bytes_ =
        report.plan.device->peak_bytes + impl().held_bytes(Space::device);
  }
  plan.host_exhausts_at_ = report.host_exhausts_at;
  plan.device_exhausts_at_ = report.device_exhausts_at;
  plan.first_to_exhaust_ = report.first_to_exhaust.value_or("");
  plan.summary_ = train::summary_text(report);
  plan.json_ = train::to_json(report, false);
  return plan;
}

std::string Model::summary(const data::Dataset& data) const {
  const auto prepared = impl().prepare({{Stage::train, &data}}, 1);
  return train::layers_text(
      train::layer_rows(prepared->job, prepared->planned));
}

Evaluation Model::evaluate(const data::Dataset& data) {
  impl().check_idle("evaluate");
  const auto prepared = impl().prepare({{Stage::evaluate, &data}}, 1);
  const train::SessionState::Running busy(impl().state());
  const auto running = impl().open(*prepared);
  throw_if_error(running->clear_metrics());
  std::int64_t examples = 0;
  impl().run_stage(*running, Stage::evaluate, [&](std::int64_t count) {
    examples += count;
    return Status();
  });
  throw_if_error(train::check_not_empty(examples, prepared->job.train.batch));
  Evaluation result;
  const auto count = static_cast<double>(examples);
  const auto sums = value_or_throw(running->metrics());
  result.loss = sums[0] / count;
  for (std::size_t i = 0; i < impl().options.metrics.size(); ++i) {
    result.metrics[impl().options.metrics[i]] = sums[i + 1] / count;
  }
  return result;
}

std::vector<float> Model::predict(const data::Dataset& data) {
  impl().check_idle("predict");
  const auto prepared = impl().prepare({{Stage::predict, &data}}, 1);
  const train::SessionState::Running busy(impl().state());
  const auto running = impl().open(*prepared);
  const std::int64_t width =
      prepared->planned.graphs.output.shape.at(1).elements();
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(
      width * std::max<std::int64_t>(
                  prepared->data.input(Stage::predict).examples(), 0)));
  const bool wide = prepared->job.train.precision == DType::f64;
  std::vector<double> batch_f64;
  std::vector<float> batch_f32;
  impl().run_stage(
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

}  // namespace plimsoll
