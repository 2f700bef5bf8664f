#include "train/plan_report_json.h"

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "train/report.h"

namespace plimsoll::train {

using Json = nlohmann::ordered_json;

namespace {

Json pipeline_json(const PipelineReport& report) {
  Json stages = Json::array();
  for (const data::StageCost& stage : report.cost.stages) {
    stages.push_back({{"stage", stage.name},
                      {"bytes", stage.bytes},
                      {"seconds_per_element", stage.seconds},
                      {"busy", stage.busy}});
  }
  return {{"stages", stages},
          {"bottleneck", report.cost.stages[report.cost.slowest()].name},
          {"readers", report.readers},
          {"slots", report.slots},
          {"pipeline_bytes", report.pipeline_bytes},
          {"staging_bytes", report.staging_bytes},
          {"share", report.share_bytes > 0 ? Json(report.share_bytes) : Json()},
          {"batch_seconds", report.batch_seconds},
          {"waits",
           report.batch_seconds > report.step_seconds ? "training" : "input"},
          {"reason", report.reason}};
}

// What is known of one memory.
struct SpaceFigures {
  std::int64_t runtime_floor_bytes = 0;
  std::int64_t allowance_bytes = 0;
};

Json space_json(const plan::SpaceForecast& forecast, const Budget& budget,
                const SpaceFigures& figures) {
  Json accounts = Json::object();
  for (int i = 0; i < kPurposes; ++i) {
    accounts[std::string(name_of(static_cast<Purpose>(i)))] =
        forecast.accounts[static_cast<std::size_t>(i)];
  }
  return {
      {"budget", budget.bytes},
      {"budget_source", budget.source},
      {"peak", forecast.peak_bytes},
      {"accounts", accounts},
      {"pools", forecast.pool_bytes},
      {"reserved", forecast.accounts[static_cast<std::size_t>(Purpose::cache)]},
      {"runtime_floor", figures.runtime_floor_bytes},
      {"allowance", figures.allowance_bytes}};
}

Json batch_or_null(const std::optional<std::int64_t>& batch) {
  return batch ? Json(*batch) : Json();
}

}  // namespace

std::string pipeline_json_text(const PipelineReport& report) {
  return pipeline_json(report).dump(2);
}

std::string to_json(const PlanReport& report, bool whole_plan) {
  Json device;
  if (report.plan.device && report.device_budget) {
    device = space_json(
        *report.plan.device, *report.device_budget,
        {report.device_runtime_floor_bytes, report.device_allowance_bytes});
  }
  Json remedies = Json::array();
  for (const Remedy& remedy : report.remedies) {
    remedies.push_back({{"change", remedy.change},
                        {"apply", remedy.apply},
                        {"host_bytes_saved", remedy.host_bytes_saved},
                        {"device_bytes_saved", remedy.device_bytes_saved},
                        {"slowdown", remedy.slowdown}});
  }
  Json programs = Json::array();
  for (std::size_t i = 0; i < report.plan.programs.size(); ++i) {
    const plan::ProgramPlan& program = report.plan.programs[i];
    Json kernels = Json::array();
    for (const KernelUse& use : report.kernels[i]) {
      kernels.push_back({{"kernel", use.kernel},
                         {"instructions", use.instructions},
                         {"scratch_bytes", use.scratch_bytes}});
    }
    programs.push_back({{"name", program.name},
                        {"batch", program.batch},
                        {"instructions", program.order.size()},
                        {"height_bytes", program.home.height_bytes},
                        {"lower_bound_bytes", program.home.lower_bound_bytes},
                        {"kernels", std::move(kernels)}});
  }
  const Choices& choices = report.choices;
  Json object = {
      {"fits", report.fits},
      {"exact", report.exact},
      {"host",
       space_json(report.plan.host, report.host_budget,
                  {report.runtime_floor_bytes, report.allowance_bytes})},
      {"device", device},
      {"first_to_exhaust",
       report.first_to_exhaust ? Json(*report.first_to_exhaust) : Json()},
      {"exhausts_at",
       {{"host", batch_or_null(report.host_exhausts_at)},
        {"device", batch_or_null(report.device_exhausts_at)}}},
      {"choices",
       {{"micro_batch", choices.micro_batch},
        {"accumulation_steps", choices.accumulation_steps},
        {"recomputed_ops", choices.recomputed_ops},
        {"offloaded_bytes", choices.offloaded_bytes},
        {"precision", choices.precision},
        {"prefetch_batches", choices.prefetch_batches},
        {"numerics", choices.numerics}}},
      {"step_seconds",
       {{"input", report.input_seconds},
        {"copy", report.copy_seconds},
        {"compute", report.compute_seconds},
        {"total", report.step_seconds}}},
      {"remedies", remedies},
      {"refusal", report.refusal},
      {"notes", report.notes},
      {"programs", programs},
      {"numerics_key", hash_text(report.numerics_key)},
      {"fingerprint", report.plan.fingerprint}};
  if (report.pipeline) object["pipeline"] = pipeline_json(*report.pipeline);
  if (whole_plan) object["plan"] = Json::parse(plan::to_json(report.plan));
  // File names need not be UTF-8.
  return object.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::train
