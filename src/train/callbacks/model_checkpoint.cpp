#include <fmt/args.h>
#include <fmt/format.h>

#include "train/callbacks/monitored.h"
#include "train/session_state.h"

namespace plimsoll {
namespace {

std::string path_of(const std::string& filepath, std::int64_t epoch,
                    const Logs& logs) {
  fmt::dynamic_format_arg_store<fmt::format_context> fields;
  fields.push_back(fmt::arg("epoch", epoch));
  for (const auto& [name, value] : logs) {
    fields.push_back(fmt::arg(name.c_str(), value));
  }
  try {
    return fmt::vformat(filepath, fields);
  } catch (const fmt::format_error& error) {
    std::string names = "epoch";
    for (const auto& [name, value] : logs) names += ", " + name;
    throw_error(
        {ErrorCode::bad_input,
         fmt::format("ModelCheckpoint: filepath \"{}\": {}; fields are {}, as "
                     "in {{epoch:02d}} or {{loss:.2f}}",
                     filepath, error.what(), names)});
  }
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(ModelCheckpointOptions options)
    : options_(std::move(options)) {
  train::check_mode("ModelCheckpoint", options_.mode);
  if (!options_.filepath.empty()) return;
  throw_error({ErrorCode::bad_input,
               "ModelCheckpoint: filepath: name the file to write"});
}

void ModelCheckpoint::on_train_begin(FitControl& fit) {
  if (options_.save_best_only) {
    train::check_monitor("ModelCheckpoint", options_.monitor, options_.mode,
                         fit);
  }
  best_ = train::worst_value(options_.monitor, options_.mode);
  // A field that is not there shows now, not after an epoch.
  Logs logs;
  for (const std::string& name : fit.log_names()) logs[name] = 0;
  static_cast<void>(path_of(options_.filepath, 1, logs));
}

void ModelCheckpoint::on_epoch_end(FitControl& fit, std::int64_t epoch,
                                   const Logs& logs) {
  if (options_.save_best_only) {
    const double value = logs.at(options_.monitor);
    if (!train::is_better(value, best_, 0, options_.monitor, options_.mode)) {
      return;
    }
    best_ = value;
  }
  const std::string path = path_of(options_.filepath, epoch, logs);
  train::make_folder_of(path);
  if (options_.save_weights_only) {
    fit.save_weights(path);
  } else {
    fit.save_checkpoint(path);
  }
}

}  // namespace plimsoll
