// [train] and [memory] of a job file.
#include <fmt/core.h>

#include <vector>

#include "base/units.h"
#include "train/job_file/job_file_sections.h"
#include "train/optimizer_keys.h"

namespace plimsoll::train {
namespace {

using std::string_view;

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
    table.read(number.key, number.range, optimizer.*number.field);
  }
  for (const OptimizerSwitch& one : def->switches) {
    table.read(one.key, optimizer.*one.field);
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
