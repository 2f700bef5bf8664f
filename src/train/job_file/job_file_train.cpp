// [train] and [memory] of a job file.
#include <fmt/core.h>

#include <vector>

#include "base/units.h"
#include "train/job_file/job_file_sections.h"
#include "train/objective.h"
#include "train/optimizer_keys.h"
#include "train/schedule.h"

namespace plimsoll::train {
namespace {

using std::string_view;

void read_reals(TableReader& table, std::string_view key,
                std::vector<double>& out) {
  const JobValue* const values = table.array(key);
  if (values == nullptr) return;
  for (const JobValue& item : values->items) {
    const bool whole = item.kind == JobValue::Kind::integer;
    if (!whole && item.kind != JobValue::Kind::real) {
      table.complain(
          key, fmt::format("must hold numbers, not {}", describe(item.kind)));
      return;
    }
    out.push_back(whole ? static_cast<double>(item.integer) : item.real);
  }
}

ScheduleSpec read_schedule(JobErrors& errors, const JobValue& value,
                           const std::string& path) {
  ScheduleSpec schedule;
  TableReader kind(errors, value, path, "a schedule");
  kind.require("type", "a `type`: " + list_of(schedules()));
  kind.read_name("type", schedules(), "schedule", schedule.type);
  const ScheduleDef* const def = find_schedule(schedule.type);
  if (errors.any() || def == nullptr) return schedule;

  std::vector<string_view> keys = {"type"};
  for (const ScheduleNumber& number : def->numbers) keys.push_back(number.key);
  for (const ScheduleSwitch& one : def->switches) keys.push_back(one.key);
  if (def->pieces) keys.insert(keys.end(), {"boundaries", "values"});
  TableReader table(errors, value, path, schedule.type);
  table.allow(keys);
  for (const ScheduleNumber& number : def->numbers) {
    if (number.required) {
      table.require(number.key, fmt::format("a `{}`: {}", number.key,
                                            wording(number.range)));
    }
    table.read(number.key, number.range, schedule.*number.field);
  }
  for (const ScheduleSwitch& one : def->switches) {
    table.read(one.key, schedule.*one.field);
  }
  if (def->pieces) {
    read_reals(table, "boundaries", schedule.boundaries);
    read_reals(table, "values", schedule.values);
  }
  if (errors.any()) return schedule;
  if (const Status right = check_schedule(schedule); !right.ok()) {
    errors.add(value, path, right.error().message);
  }
  return schedule;
}

// A number or a table.
void read_rate(TableReader& table, RealRange range, OptimizerSpec& optimizer) {
  constexpr const char* kKey = "learning_rate";
  const JobValue* const value = table.find(kKey);
  if (value == nullptr || value->kind != JobValue::Kind::table) {
    table.read(kKey, range, optimizer.learning_rate);
    return;
  }
  optimizer.schedule =
      read_schedule(table.errors(), *value, table.path_of(kKey));
  if (!table.errors().any()) {
    optimizer.learning_rate = nominal_rate(optimizer.schedule);
  }
}

OptimizerSpec read_optimizer(JobErrors& errors, const JobValue& value,
                             const std::string& path) {
  OptimizerSpec optimizer;
  TableReader kind(errors, value, path, "an optimizer");
  kind.require("type", "a `type`: " + list_of(optimizers()));
  kind.read_name("type", optimizers(), "optimizer", optimizer.type);
  const OptimizerDef* const def = find_optimizer(optimizer.type);
  if (errors.any() || def == nullptr) return optimizer;

  optimizer = def->defaults;
  std::vector<string_view> keys = {"type"};
  for (const OptimizerNumber& number : def->numbers) keys.push_back(number.key);
  for (const OptimizerSwitch& one : def->switches) keys.push_back(one.key);
  TableReader table(errors, value, path, optimizer.type);
  table.allow(keys);
  for (const OptimizerNumber& number : def->numbers) {
    if (number.key == "learning_rate") {
      read_rate(table, number.range, optimizer);
      continue;
    }
    table.read(number.key, number.range, optimizer.*number.field);
  }
  for (const OptimizerSwitch& one : def->switches) {
    table.read(one.key, optimizer.*one.field);
  }
  int clippings = 0;
  for (const OptimizerNumber& key : clipping_keys()) {
    if (!table.has(key.key) || ++clippings == 1) continue;
    table.complain(key.key, kOneClipping);
  }
  return optimizer;
}

}  // namespace

void read_train(TableReader& table, TrainSpec& train) {
  static constexpr string_view kKeys[] = {
      "batch", "epochs", "optimizer",         "loss", "metrics", "precision",
      "tf32",  "seed",   "accumulation_steps"};
  table.allow(kKeys);
  table.read("batch", IntegerRange{}, train.batch);
  table.read("epochs", IntegerRange{}, train.epochs);
  table.read("seed", {0, std::numeric_limits<std::int64_t>::max()}, train.seed);
  table.read("accumulation_steps", {1, kMostAccumulationSteps},
             train.accumulation_steps);
  table.require("loss", "a `loss`: " + list_of(losses()));
  table.read_name("loss", losses(), "loss", train.loss);
  table.read_names("metrics", metrics(), "metric", train.metrics);
  for (const std::string& metric : train.metrics) {
    const std::string why = metric_mismatch(metric, train.loss);
    if (!why.empty()) table.complain("metrics", why);
  }
  if (const JobValue* value = table.table("optimizer")) {
    train.optimizer =
        read_optimizer(table.errors(), *value, table.path_of("optimizer"));
  }
  std::string precision = "f32";
  table.read_name("precision", precisions(), "precision", precision);
  train.precision = parse_dtype(precision).value_or(DType::f32);
  table.read("tf32", train.tf32);
}

void read_memory(TableReader& table, MemorySpec& memory) {
  static constexpr string_view kKeys[] = {"host", "device", "pinned", "growth"};
  table.allow(kKeys);
  table.read("host", memory.host);
  table.read("device", memory.device);
  table.read("pinned", memory.pinned);
  table.read("growth", memory.growth);
  // Only the form is checked: what a percentage is of is not known here.
  constexpr std::int64_t kAnyWhole = std::int64_t{1} << 40;
  const auto check = [&](std::string_view key,
                         const std::optional<std::string>& size) {
    if (!size) return;
    if (const auto bytes = parse_size(*size, kAnyWhole); !bytes)
      table.complain(key, bytes.error().message);
  };
  check("host", memory.host);
  check("device", memory.device);
}

}  // namespace plimsoll::train
