#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "train/callbacks/monitored.h"
#include "train/session_state.h"

namespace plimsoll {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)) {
  train::check_mode("EarlyStopping", options_.mode);
}

EarlyStopping::~EarlyStopping() { remove_file(); }

void EarlyStopping::remove_file() noexcept {
  if (file_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  file_.clear();
}

void EarlyStopping::on_train_begin(FitControl& fit) {
  train::check_monitor("EarlyStopping", options_.monitor, options_.mode, fit);
  remove_file();  // of a fit that was left
  best_ = train::worst_value(options_.monitor, options_.mode);
  wait_ = best_epoch_ = stopped_epoch_ = 0;
  if (!options_.restore_best_weights) return;
  // Another name for each: several may train at the same time.
  static std::atomic<int> number = 0;
  std::string folder = options_.folder;
  if (folder.empty()) {
    folder = std::filesystem::temp_directory_path().string();
  } else {
    train::make_folder(folder);
  }
  file_ = fmt::format("{}/plimsoll-best-{}-{}.safetensors", folder, getpid(),
                      ++number);
}

void EarlyStopping::on_epoch_end(FitControl& fit, std::int64_t epoch,
                                 const Logs& logs) {
  const double value = logs.at(options_.monitor);
  const bool better = train::is_better(value, best_, options_.min_delta,
                                       options_.monitor, options_.mode);
  if (better) best_ = value;
  // The first are kept whatever they are: there is then something to restore.
  if (better || best_epoch_ == 0) {
    best_epoch_ = epoch;
    if (options_.restore_best_weights) fit.save_weights(file_);
  }
  wait_ = better ? 0 : wait_ + 1;
  if (better || wait_ < options_.patience || epoch == 1) return;
  stopped_epoch_ = epoch;
  fit.stop_training();
}

void EarlyStopping::on_train_end(FitControl& fit, const Logs&) {
  if (options_.restore_best_weights && best_epoch_ > 0) {
    fit.load_weights(file_);
  }
  remove_file();
}

}  // namespace plimsoll
