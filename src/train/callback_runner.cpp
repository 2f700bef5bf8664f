#include "train/callback_runner.h"

#include <fmt/core.h>

#include <cmath>

#include "train/checkpoint.h"
#include "train/session_state.h"

namespace plimsoll::train {

template <class Action>
void CallbackRunner::guarded(const Action& action) {
  if (thrown_) return;
  try {
    action();
  } catch (...) {
    thrown_ = std::current_exception();
    stop_ = true;
    last_epoch_ = true;
  }
}

History CallbackRunner::begin() {
  beginning_ = true;
  guarded([&] {
    for (const auto& callback : options_.callbacks) {
      if (callback == nullptr) {
        throw_error({ErrorCode::bad_input, "callbacks: one of them is null"});
      }
      callback->on_train_begin(*this);
    }
  });
  beginning_ = false;
  return history_;
}

FitHooks CallbackRunner::hooks() {
  FitHooks hooks;
  hooks.stop = &stop_;
  hooks.last_epoch = &last_epoch_;
  if (options_.on_progress || !options_.callbacks.empty()) {
    hooks.on_progress = [&](const Progress& progress) { report(progress); };
  }
  if (options_.callbacks.empty()) return hooks;
  hooks.on_epoch_begin = [&](std::int64_t epoch) {
    in_epoch_ = true;
    guarded([&] {
      for (const auto& callback : options_.callbacks) {
        callback->on_epoch_begin(*this, epoch);
      }
    });
    in_epoch_ = false;
  };
  hooks.on_epoch = [&](const FitRecord& record, const Progress&) -> Status {
    history_ = record.history;
    if (!record.stopped) finish_epoch();
    return {};
  };
  return hooks;
}

void CallbackRunner::report(const Progress& progress) {
  in_epoch_ = amid_steps_ = !progress.epoch_end;
  guarded([&] {
    if (options_.on_progress) {
      options_.on_progress(progress.epoch, progress.loss);
    }
    if (progress.epoch_end || options_.callbacks.empty()) return;
    Logs logs(progress.metrics.begin(), progress.metrics.end());
    logs["loss"] = progress.loss;
    for (const auto& callback : options_.callbacks) {
      callback->on_progress(*this, progress.epoch, logs);
    }
  });
  in_epoch_ = amid_steps_ = false;
}

void CallbackRunner::finish_epoch() {
  guarded([&] {
    logs_.clear();
    for (const auto& [name, values] : history_.metrics) {
      if (!values.empty()) logs_[name] = values.back();
    }
    logs_["loss"] = history_.loss_by_epoch.back();
    logs_[kLearningRate] = learning_rate();
    for (const auto& callback : options_.callbacks) {
      callback->on_epoch_end(*this, history_.epoch, logs_);
    }
  });
}

void CallbackRunner::end() {
  guarded([&] {
    for (const auto& callback : options_.callbacks) {
      callback->on_train_end(*this, logs_);
    }
  });
}

void CallbackRunner::stop_training() {
  last_epoch_ = true;
  if (in_epoch_) stop_ = true;
}

double CallbackRunner::learning_rate() {
  return value_or_throw(running_.scalar(kLearningRate));
}

void CallbackRunner::set_learning_rate(double rate) {
  const std::string& schedule = running_.job().train.optimizer.schedule.type;
  if (!schedule.empty()) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("the learning rate follows {}, which would set it "
                             "again with the next update: give the optimizer a "
                             "number instead",
                             schedule)});
  }
  if (!std::isfinite(rate) || rate < 0) {
    throw_error(
        {ErrorCode::bad_input,
         fmt::format("learning rate {}: must be a number from 0 on", rate)});
  }
  throw_if_error(running_.finish());
  throw_if_error(running_.set_all(kLearningRate, rate));
}

void CallbackRunner::save_weights(const std::string& path) {
  model_.save_weights(path);
}

void CallbackRunner::load_weights(const std::string& path) {
  model_.load_weights(path);
}

void CallbackRunner::save_checkpoint(const std::string& path) {
  if (amid_steps_) {
    throw_error(
        {ErrorCode::bad_input,
         "checkpoints are written between epochs; save_weights() can be "
         "called at any time"});
  }
  throw_if_error(running_.finish());
  throw_if_error(train::save_checkpoint(path, running_, examples_, history_));
}

void CallbackRunner::restore_checkpoint(const std::string& path) {
  if (!beginning_) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("{}: a checkpoint is restored in on_train_begin, "
                             "before the first step",
                             path)});
  }
  history_ = value_or_throw(
      load_checkpoint(path, running_, examples_, RateOf::checkpoint));
}

std::vector<std::string> CallbackRunner::log_names() const {
  std::vector<std::string> names = {"loss"};
  const auto& metrics = running_.job().train.metrics;
  names.insert(names.end(), metrics.begin(), metrics.end());
  if (options_.validation != nullptr) {
    names.push_back("val_loss");
    for (const std::string& metric : metrics) names.push_back("val_" + metric);
  }
  names.push_back(kLearningRate);
  return names;
}

}  // namespace plimsoll::train
