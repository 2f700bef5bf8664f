// Calls the callbacks of a fit() and does what they ask for. What they throw
// waits until the model has its weights back.
#pragma once

#include <atomic>
#include <exception>

#include "plimsoll/model.h"
#include "train/fit.h"

namespace plimsoll::train {

class CallbackRunner final : public FitControl {
 public:
  // All must outlive the runner. `examples` are those of the training set.
  CallbackRunner(Model& model, RunningJob& running, std::int64_t examples,
                 const FitOptions& options)
      : model_(model),
        running_(running),
        examples_(examples),
        options_(options) {}

  // Returns where training starts.
  History begin();
  FitHooks hooks();
  void end();
  bool has_thrown() const { return thrown_ != nullptr; }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

  void stop_training() override;
  double learning_rate() override;
  void set_learning_rate(double rate) override;
  void save_weights(const std::string& path) override;
  void load_weights(const std::string& path) override;
  void save_checkpoint(const std::string& path) override;
  void restore_checkpoint(const std::string& path) override;
  std::vector<std::string> log_names() const override;

 private:
  // Runs `action`, unless something has been thrown before.
  template <class Action>
  void guarded(const Action& action);
  void report(const Progress& progress);
  void finish_epoch();

  Model& model_;
  RunningJob& running_;
  std::int64_t examples_;
  const FitOptions& options_;
  std::exception_ptr thrown_;
  bool beginning_ = false;   // in on_train_begin
  bool in_epoch_ = false;    // where a stop cannot wait for the epoch's end
  bool amid_steps_ = false;  // the history does not say how far
  std::atomic<bool> stop_ = false;
  bool last_epoch_ = false;  // no further epoch begins
  History history_;          // as far as it is known
  Logs logs_;                // likewise
};

}  // namespace plimsoll::train
