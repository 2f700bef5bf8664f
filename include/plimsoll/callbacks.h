// What happens around the epochs of fit(): callbacks by the names of Keras.
// Epochs count from 1.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace plimsoll {

namespace report {
class EventWriter;
}

// An epoch's values by name: loss, the metrics, the same of the validation
// data as val_loss and so on, and learning_rate.
using Logs = std::map<std::string, double>;

// The fit() that a callback is called from.
class FitControl {
 public:
  virtual ~FitControl() = default;

  // No further epoch begins; from on_epoch_begin or on_progress, no further
  // batch either.
  virtual void stop_training() = 0;
  virtual double learning_rate() = 0;
  // Throws where the optimizer has a schedule.
  virtual void set_learning_rate(double rate) = 0;
  // As the model's own.
  virtual void save_weights(const std::string& path) = 0;
  virtual void load_weights(const std::string& path) = 0;
  // Every state and the position, as `plimsoll train` writes them. Not in
  // on_progress.
  virtual void save_checkpoint(const std::string& path) = 0;
  // Goes on from a checkpoint of the same training, with the same bits. In
  // on_train_begin alone.
  virtual void restore_checkpoint(const std::string& path) = 0;
  // What on_epoch_end gets.
  virtual std::vector<std::string> log_names() const = 0;
};

// What one throws leaves fit() as it is: the model keeps the weights that it
// has then. Callbacks are called one after the other, as they stand.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(FitControl&) {}
  virtual void on_epoch_begin(FitControl&, std::int64_t /*epoch*/) {}
  // A few times a second: loss and metrics of the epoch so far.
  virtual void on_progress(FitControl&, std::int64_t /*epoch*/, const Logs&) {}
  virtual void on_epoch_end(FitControl&, std::int64_t /*epoch*/, const Logs&) {}
  // After the last epoch or a stop, with the last logs; not after an error.
  virtual void on_train_end(FitControl&, const Logs&) {}
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::int64_t patience = 0;
  std::string mode = "auto";  // or "min", "max"
  // The best weights wait in a file, not in memory; it goes with the fit.
  bool restore_best_weights = false;
  std::string folder = {};  // for that file; empty: the system's for such
};

// Ends training when the monitored value has been no better for `patience`
// epochs.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  ~EarlyStopping() override;
  EarlyStopping(const EarlyStopping&) = delete;
  EarlyStopping& operator=(const EarlyStopping&) = delete;

  void on_train_begin(FitControl& fit) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;
  void on_train_end(FitControl& fit, const Logs& logs) override;

  std::int64_t stopped_epoch() const { return stopped_epoch_; }  // 0: was not
  std::int64_t best_epoch() const { return best_epoch_; }

 private:
  void remove_file() noexcept;

  EarlyStoppingOptions options_;
  std::string file_;  // of the best weights; empty: none
  double best_ = 0;
  std::int64_t wait_ = 0;
  std::int64_t best_epoch_ = 0;
  std::int64_t stopped_epoch_ = 0;
};

struct ModelCheckpointOptions {
  // With fields for the epoch and for names of the logs, as in
  // "run/{epoch:02d}-{val_loss:.2f}.safetensors". Its folder is made.
  std::string filepath;
  std::string monitor = "val_loss";  // of save_best_only
  bool save_best_only = false;
  // The model's weights; otherwise every state and the position.
  bool save_weights_only = false;
  std::string mode = "auto";
};

class ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(ModelCheckpointOptions options);
  void on_train_begin(FitControl& fit) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;

 private:
  ModelCheckpointOptions options_;
  double best_ = 0;
};

// Writes a checkpoint into the folder after each epoch. A fit() of another
// process that finds one goes on from there, with the same bits; a fit() that
// ends removes it. What other callbacks count starts anew, as in Keras.
class BackupAndRestore : public Callback {
 public:
  explicit BackupAndRestore(std::string folder);
  void on_train_begin(FitControl& fit) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;
  void on_train_end(FitControl& fit, const Logs& logs) override;

 private:
  std::string file() const;
  std::string folder_;
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;  // epochs after a change that do not count
  double min_lr = 0;
};

class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
  void on_train_begin(FitControl& fit) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;

 private:
  ReduceLROnPlateauOptions options_;
  double best_ = 0;
  std::int64_t wait_ = 0;
  std::int64_t cooldown_left_ = 0;
};

// A line an epoch under a line of names.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string filename, char separator = ',',
                     bool append = false);
  void on_train_begin(FitControl& fit) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;
  void on_train_end(FitControl& fit, const Logs& logs) override;

 private:
  void check() const;

  std::string filename_;
  char separator_;
  bool append_;
  std::ofstream file_;
};

// Ends training when the loss is not a finite number, within a fraction of a
// second: values of a device arrive some steps later.
class TerminateOnNaN : public Callback {
 public:
  void on_progress(FitControl& fit, std::int64_t epoch,
                   const Logs& logs) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;
};

// Scalars of each epoch (epoch_loss, epoch_val_loss, ...) in an event file.
class TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::string log_dir = "logs");
  ~TensorBoard() override;
  void on_train_begin(FitControl& fit) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;
  void on_train_end(FitControl& fit, const Logs& logs) override;

 private:
  std::string log_dir_;
  std::unique_ptr<report::EventWriter> writer_;
};

// Functions in place of a class of one's own; empty ones are left out.
struct LambdaFunctions {
  std::function<void(FitControl&)> on_train_begin = {};
  std::function<void(FitControl&, std::int64_t epoch)> on_epoch_begin = {};
  std::function<void(FitControl&, std::int64_t epoch, const Logs&)>
      on_epoch_end = {};
  std::function<void(FitControl&, const Logs&)> on_train_end = {};
};

class LambdaCallback : public Callback {
 public:
  explicit LambdaCallback(LambdaFunctions functions);
  void on_train_begin(FitControl& fit) override;
  void on_epoch_begin(FitControl& fit, std::int64_t epoch) override;
  void on_epoch_end(FitControl& fit, std::int64_t epoch,
                    const Logs& logs) override;
  void on_train_end(FitControl& fit, const Logs& logs) override;

 private:
  LambdaFunctions functions_;
};

}  // namespace plimsoll
