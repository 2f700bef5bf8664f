#include "train/run_directory.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "train/checkpoint.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// JSON has no NaN: a diverged value is null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

// File names need not be UTF-8.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Beside, then renamed: a reader never sees half a file.
Status write_whole(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << text << '\n';
    file.flush();
    if (!file) return Error{ErrorCode::io, "cannot write " + beside};
  }
  std::error_code failure;
  fs::rename(beside, path, failure);
  if (failure) {
    return Error{ErrorCode::io, path + ": " + failure.message()};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RunDirectory>> RunDirectory::create(
    const std::string& path, bool resuming) {
  std::error_code failure;
  fs::create_directories(path + "/checkpoints", failure);
  if (failure) {
    return Error{ErrorCode::io,
                 "run directory " + path + ": " + failure.message()};
  }
  if (!resuming) {
    // Otherwise --resume would go on from another run's weights.
    for (const std::string& old : {checkpoint_path(path), summary_path(path)}) {
      fs::remove(old, failure);
      if (failure) return Error{ErrorCode::io, old + ": " + failure.message()};
    }
  }
  std::unique_ptr<RunDirectory> folder(new RunDirectory(path));
  folder->log_.open(path + "/log.jsonl",
                    resuming ? std::ios::app : std::ios::trunc);
  if (!folder->log_) {
    return Error{ErrorCode::io, "cannot write " + path + "/log.jsonl"};
  }
  return folder;
}

Status RunDirectory::write_plan(const std::string& json) {
  return write_whole(path_ + "/plan.json", json);
}

Status RunDirectory::write_summary(const std::string& json) {
  return write_whole(summary_path(path_), json);
}

Status RunDirectory::log_epoch(const FitRecord& record,
                               const Progress& progress,
                               std::optional<double> loss_scale,
                               const std::string& note) {
  Json line = {{"epoch", progress.epoch},
               {"step", record.history.steps},
               {"seconds", record.seconds},
               {"loss", number(progress.loss)}};
  for (const auto& [name, value] : progress.metrics) line[name] = number(value);
  if (progress.validation_loss) {
    line["val_loss"] = number(*progress.validation_loss);
  }
  line["examples_per_second"] = progress.examples_per_second;
  line["host_bytes"] = progress.host_bytes;
  if (progress.device_budget_bytes > 0) {
    line["device_bytes"] = progress.device_bytes;
  }
  if (loss_scale) line["loss_scale"] = *loss_scale;
  line["stopped"] = record.stopped;
  if (!note.empty()) line["note"] = note;
  log_ << text_of(line, -1) << '\n';
  log_.flush();
  if (!log_)
    return Error{ErrorCode::io, "cannot write " + path_ + "/log.jsonl"};
  return {};
}

Status send_scalars(const FitRecord& record, const Progress& progress,
                    const ScalarSink& sink) {
  const std::int64_t step = record.history.steps;
  PLIMSOLL_RETURN_IF_ERROR(sink("epoch_loss", step, progress.loss));
  for (const auto& [name, value] : progress.metrics) {
    PLIMSOLL_RETURN_IF_ERROR(sink("epoch_" + name, step, value));
  }
  if (progress.validation_loss) {
    PLIMSOLL_RETURN_IF_ERROR(
        sink("epoch_val_loss", step, *progress.validation_loss));
  }
  return sink("host_bytes", step, static_cast<double>(progress.host_bytes));
}

namespace {

// By purpose: what the ledger holds, and as runtime what no pool explains.
Json accounts_of(const Measured& measured, bool of_device,
                 std::int64_t runtime_bytes) {
  plan::Accounts accounts{};
  for (const Holding& holding : measured.ledger) {
    if ((holding.space == Space::device) != of_device) continue;
    accounts[static_cast<std::size_t>(holding.purpose)] += holding.bytes;
  }
  accounts[static_cast<std::size_t>(Purpose::runtime)] = runtime_bytes;
  Json json = Json::object();
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    json[std::string(name_of(static_cast<Purpose>(i)))] = accounts[i];
  }
  return json;
}

}  // namespace

std::string summary_path(const std::string& run_dir) {
  return run_dir + "/summary.json";
}

bool says_failed(const std::string& summary) {
  const Json read = Json::parse(summary, nullptr, /*allow_exceptions=*/false);
  return read.is_object() && read.contains("failed");
}

std::string summary_json(const plan::JobPlan& plan, const FitRecord& record,
                         const Measured& measured, const std::string& failure) {
  Json metrics = Json::object();
  for (const auto& [name, values] : record.history.metrics) {
    metrics[name] = numbers(values);
  }
  const double rate =
      record.timed_seconds > 0
          ? static_cast<double>(record.timed_examples) / record.timed_seconds
          : 0;
  std::int64_t planned_height = 0;
  for (const plan::ProgramPlan& program : plan.programs) {
    planned_height = std::max(planned_height, program.home.height_bytes);
  }
  Json summary = {
      {"forecast",
       {{"host_peak", plan.host.peak_bytes},
        {"host_ledger_peak", plan.host.pool_bytes},
        {"device_peak", plan.device ? Json(plan.device->peak_bytes) : Json()},
        {"device_ledger_peak",
         plan.device ? Json(plan.device->pool_bytes) : Json()},
        {"arena_height", planned_height}}},
      {"measured",
       {{"host_rss_peak", record.rss_peak_bytes},
        {"host_ledger_peak", measured.mapped_bytes},
        {"device_peak",
         measured.device ? Json(measured.device->peak_bytes) : Json()},
        {"device_ledger_peak",
         measured.device ? Json(measured.device->mapped_bytes) : Json()},
        {"device_method",
         measured.device ? Json(measured.device->method) : Json()},
        {"arena_height", measured.arena_height_bytes},
        {"accounts",
         accounts_of(measured, false,
                     record.rss_peak_bytes - measured.mapped_bytes)},
        {"rss_by_epoch", record.history.anonymous_bytes_by_epoch},
        {"allocations_after_first_step", record.charges_after_first_step}}},
      {"stopped", record.stopped},
      {"steps", record.history.steps},
      {"seconds", record.seconds},
      {"examples_per_second", rate},
      {"loss_by_epoch", numbers(record.history.loss_by_epoch)},
      {"metrics", metrics}};
  if (measured.device) {
    summary["measured"]["device_accounts"] = accounts_of(
        measured, true,
        measured.device->peak_bytes - measured.device->mapped_bytes);
  }
  if (measured.skipped_elements) {
    summary["skipped_elements"] = *measured.skipped_elements;
  }
  if (!failure.empty()) summary["failed"] = failure;
  return text_of(summary, 2);
}

}  // namespace plimsoll::train
