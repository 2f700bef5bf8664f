#include <fmt/core.h>

#include <algorithm>

#include "train/callbacks/monitored.h"
#include "train/session_state.h"

namespace plimsoll {

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)) {
  train::check_mode("ReduceLROnPlateau", options_.mode);
  if (options_.factor > 0 && options_.factor < 1) return;
  throw_error(
      {ErrorCode::bad_input,
       fmt::format("ReduceLROnPlateau: factor {}: must be between 0 and 1",
                   options_.factor)});
}

void ReduceLROnPlateau::on_train_begin(FitControl& fit) {
  train::check_monitor("ReduceLROnPlateau", options_.monitor, options_.mode,
                       fit);
  best_ = train::worst_value(options_.monitor, options_.mode);
  wait_ = cooldown_left_ = 0;
}

// Keras's order: an epoch of the cooldown may better the best, but never waits.
void ReduceLROnPlateau::on_epoch_end(FitControl& fit, std::int64_t,
                                     const Logs& logs) {
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    wait_ = 0;
  }
  const double value = logs.at(options_.monitor);
  if (train::is_better(value, best_, options_.min_delta, options_.monitor,
                       options_.mode)) {
    best_ = value;
    wait_ = 0;
    return;
  }
  if (cooldown_left_ > 0 || ++wait_ < options_.patience) return;
  const double rate = fit.learning_rate();
  if (rate <= options_.min_lr) return;
  fit.set_learning_rate(std::max(rate * options_.factor, options_.min_lr));
  cooldown_left_ = options_.cooldown;
  wait_ = 0;
}

}  // namespace plimsoll
