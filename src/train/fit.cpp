#include "train/fit.h"

#include <algorithm>
#include <chrono>

#include "train/full_batch.h"

namespace plimsoll::train {
namespace {

using Clock = std::chrono::steady_clock;

// Past this many epochs the records grow by a few bytes each.
constexpr std::int64_t kEpochsWithRoom = 4096;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Room for a value an epoch, touched, so that later epochs take no memory.
template <class T>
void make_room(std::vector<T>& values, std::int64_t epochs) {
  const std::size_t size = values.size();
  values.resize(std::max(
      size, static_cast<std::size_t>(std::min(epochs, kEpochsWithRoom))));
  values.resize(size);
}

class FitLoop {
 public:
  FitLoop(const JobSpec& job, RunningJob& running, const JobData& data,
          Machine& machine, const Line& line, History start,
          const FitHooks& hooks)
      : job_(job), running_(running), machine_(machine), hooks_(hooks) {
    record_.history = std::move(start);
    progress_.epochs = job.train.epochs;
    progress_.host_budget_bytes = line.host_bytes;
    progress_.device_budget_bytes = line.device_bytes;
    examples_ = data.input(Stage::train).examples();
    progress_.steps = examples_ == data::kUnknownCount
                          ? 0
                          : (examples_ + job.train.batch - 1) / job.train.batch;
    for (const std::string& metric : job.train.metrics) {
      progress_.metrics.emplace_back(metric, 0.0);
      validation_names_.push_back("val_" + metric);
    }
    train_sums_.resize(job.train.metrics.size() + 1);
    validation_.resize(job.train.metrics.size());
    make_room_for_epochs();
  }

  Result<FitRecord> run() {
    PLIMSOLL_ASSIGN(memory_, ProcessMemoryReader::open_self());
    start_ = Clock::now();
    const Status trained = train();
    record_.seconds = seconds_since(start_);
    sample_memory();
    record_.charges_after_first_step =
        first_step_done_ ? machine_.ledger().charges() - charges_at_first_ : 0;
    if (trained) return std::move(record_);
    if (hooks_.on_failure) hooks_.on_failure(record_, trained.error());
    return trained.error();
  }

 private:
  Status train() {
    while (record_.history.epoch < job_.train.epochs && !last_epoch_done()) {
      PLIMSOLL_RETURN_IF_ERROR(train_epoch());
      if (stop_requested()) return stop();
      PLIMSOLL_RETURN_IF_ERROR(finish_epoch());
      if (record_.stopped) break;
    }
    return {};
  }

  bool stop_requested() const {
    return hooks_.stop && hooks_.stop->load(std::memory_order_relaxed);
  }

  bool last_epoch_done() const {
    return hooks_.last_epoch && *hooks_.last_epoch;
  }

  // Leaves everything so that training can go on from here.
  Status stop() {
    record_.stopped = true;
    record_.history.stream = running_.feeder(Stage::train)->position().stream;
    pause_clock();
    PLIMSOLL_ASSIGN(const auto sums, running_.metrics());
    update_progress({sums, record_.history.position});
    sample_memory();
    record_.seconds = seconds_since(start_);
    if (hooks_.on_epoch) return hooks_.on_epoch(record_, progress_);
    return {};
  }

  void make_room_for_epochs() {
    const std::int64_t epochs = job_.train.epochs;
    History& history = record_.history;
    make_room(history.anonymous_bytes_by_epoch, epochs);
    make_room(history.loss_by_epoch, epochs);
    for (const std::string& metric : job_.train.metrics) {
      make_room(history.metrics[metric], epochs);
    }
    if (!running_.feeder(Stage::evaluate)) return;
    make_room(history.metrics["val_loss"], epochs);
    for (const std::string& name : validation_names_) {
      make_room(history.metrics[name], epochs);
    }
  }

  Status train_epoch() {
    data::BatchFeeder& feeder = *running_.feeder(Stage::train);
    History& history = record_.history;
    progress_.epoch = history.epoch + 1;
    progress_.epoch_end = false;
    progress_.validation_loss.reset();
    if (history.position == 0) {
      PLIMSOLL_RETURN_IF_ERROR(running_.clear_metrics());
      if (hooks_.on_epoch_begin) hooks_.on_epoch_begin(progress_.epoch);
    }
    PLIMSOLL_RETURN_IF_ERROR(
        feeder.start({history.epoch, history.position, history.stream}));
    while (!stop_requested()) {
      auto batch = feeder.next();
      if (!batch) return std::move(batch).error();
      if (batch->examples == 0) {
        PLIMSOLL_RETURN_IF_ERROR(update_from_group(1));
        PLIMSOLL_RETURN_IF_ERROR(running_.finish());
        // A stream that nobody has counted may turn out too short.
        return check_not_empty(history.position, job_.train.batch);
      }
      PLIMSOLL_RETURN_IF_ERROR(running_.step(Stage::train, *batch));
      history.position += batch->examples;
      ++history.steps;
      if (job_.train.accumulation_steps > 1) {
        ++history.group_batches;
        history.group_examples += batch->examples;
        PLIMSOLL_RETURN_IF_ERROR(
            update_from_group(job_.train.accumulation_steps));
      }
      PLIMSOLL_RETURN_IF_ERROR(count_step(batch->examples));
    }
    return running_.finish();
  }

  // Once a group has that many batches.
  Status update_from_group(std::int64_t batches) {
    History& history = record_.history;
    if (history.group_batches < batches) return {};
    PLIMSOLL_RETURN_IF_ERROR(running_.update(history.group_examples));
    history.group_batches = history.group_examples = 0;
    return {};
  }

  Status count_step(std::int64_t examples) {
    const auto now = Clock::now();
    if (!first_step_done_) {
      first_step_done_ = true;
      timed_from_ = now;
      last_report_ = now;
      charges_at_first_ = machine_.ledger().charges();
      return {};
    }
    record_.timed_examples += examples;
    paused_before_ = now;
    if (now - last_report_ < std::chrono::milliseconds(100)) return {};
    last_report_ = now;
    sample_memory();
    if (!hooks_.on_progress) return {};
    PLIMSOLL_ASSIGN(const Sample recent,
                    running_.recent_metrics(record_.history.position));
    if (recent.position == 0) return {};  // none has come back yet
    update_progress(recent);
    hooks_.on_progress(progress_);
    return {};
  }

  void update_progress(const Sample& sums) {
    const History& history = record_.history;
    const auto seen =
        static_cast<double>(std::max<std::int64_t>(sums.position, 1));
    progress_.step =
        (history.position + job_.train.batch - 1) / job_.train.batch;
    progress_.loss = sums.values[0] / seen;
    for (std::size_t i = 0; i < progress_.metrics.size(); ++i) {
      progress_.metrics[i].second = sums.values[i + 1] / seen;
    }
    const double timed =
        record_.timed_seconds +
        std::chrono::duration<double>(paused_before_ - timed_from_).count();
    progress_.examples_per_second =
        timed > 0 ? static_cast<double>(record_.timed_examples) / timed : 0;
    const auto left = static_cast<double>(
        (job_.train.epochs - history.epoch) * examples_ - history.position);
    const bool known = examples_ != data::kUnknownCount;
    progress_.eta_seconds = known && progress_.examples_per_second > 0
                                ? left / progress_.examples_per_second
                                : 0;
  }

  void sample_memory() {
    if (machine_.device() != nullptr) {
      progress_.device_bytes = machine_.device_bytes();
    }
    ProcessStatus status;
    if (!memory_.read(status)) return;
    progress_.host_bytes = status.resident_bytes();
    record_.rss_peak_bytes =
        std::max({record_.rss_peak_bytes, status.peak_rss_bytes,
                  status.resident_bytes()});
  }

  // The clock of examples per second stands still between epochs.
  void pause_clock() {
    if (!first_step_done_) return;
    const auto now = Clock::now();
    record_.timed_seconds +=
        std::chrono::duration<double>(now - timed_from_).count();
    timed_from_ = paused_before_ = now;
  }

  Status finish_epoch() {
    pause_clock();
    PLIMSOLL_ASSIGN(const auto sums, running_.metrics());
    update_progress({sums, record_.history.position});
    if (running_.feeder(Stage::evaluate)) {
      std::copy(sums.begin(), sums.end(), train_sums_.begin());
      PLIMSOLL_ASSIGN(const bool evaluated, evaluate());
      if (!evaluated) {
        // The position stays at the epoch's end: resuming evaluates again.
        PLIMSOLL_RETURN_IF_ERROR(running_.set_metrics(train_sums_));
        timed_from_ = paused_before_ = Clock::now();
        return stop();
      }
    }
    record_epoch();
    History& history = record_.history;
    ++history.epoch;
    history.position = 0;
    history.stream.clear();
    sample_memory();
    ProcessMemory memory;
    if (memory_.read(memory)) {
      history.anonymous_bytes_by_epoch.push_back(memory.anonymous_bytes);
    }
    record_.seconds = seconds_since(start_);
    progress_.epoch_end = true;
    if (hooks_.on_progress) hooks_.on_progress(progress_);
    if (hooks_.on_epoch) {
      PLIMSOLL_RETURN_IF_ERROR(hooks_.on_epoch(record_, progress_));
    }
    timed_from_ = Clock::now();
    paused_before_ = timed_from_;
    return {};
  }

  void record_epoch() {
    History& history = record_.history;
    history.loss_by_epoch.push_back(progress_.loss);
    for (const auto& [name, value] : progress_.metrics) {
      history.metrics[name].push_back(value);
    }
    if (!progress_.validation_loss) return;
    history.metrics["val_loss"].push_back(*progress_.validation_loss);
    for (std::size_t i = 0; i < validation_.size(); ++i) {
      history.metrics[validation_names_[i]].push_back(validation_[i]);
    }
  }

  // False: a stop was asked for before the last batch.
  Result<bool> evaluate() {
    PLIMSOLL_RETURN_IF_ERROR(running_.clear_metrics());
    data::BatchFeeder& feeder = *running_.feeder(Stage::evaluate);
    PLIMSOLL_RETURN_IF_ERROR(feeder.start({}));
    std::int64_t examples = 0;
    while (true) {
      if (stop_requested()) {
        PLIMSOLL_RETURN_IF_ERROR(running_.finish());
        return false;
      }
      auto batch = feeder.next();
      if (!batch) return std::move(batch).error();
      if (batch->examples == 0) break;
      PLIMSOLL_RETURN_IF_ERROR(running_.step(Stage::evaluate, *batch));
      examples += batch->examples;
    }
    PLIMSOLL_RETURN_IF_ERROR(check_not_empty(examples, job_.train.batch));
    const auto count = static_cast<double>(examples);
    PLIMSOLL_ASSIGN(const auto sums, running_.metrics());
    progress_.validation_loss = sums[0] / count;
    for (std::size_t i = 0; i < validation_.size(); ++i) {
      validation_[i] = sums[i + 1] / count;
    }
    return true;
  }

  const JobSpec& job_;
  RunningJob& running_;
  Machine& machine_;
  const FitHooks& hooks_;
  FitRecord record_;
  Progress progress_;
  std::vector<std::string> validation_names_;
  std::vector<double> train_sums_;  // of the loss, then of the metrics
  std::vector<double> validation_;  // the metrics' last values
  ProcessMemoryReader memory_;
  Clock::time_point start_;
  Clock::time_point timed_from_;
  Clock::time_point paused_before_;  // the last counted step
  Clock::time_point last_report_;
  bool first_step_done_ = false;
  std::int64_t examples_ = 0;  // in an epoch, or data::kUnknownCount
  std::int64_t charges_at_first_ = 0;
};

}  // namespace

Result<FitRecord> fit(const JobSpec& job, RunningJob& running,
                      const JobData& data, Machine& machine, const Line& line,
                      History start, const FitHooks& hooks) {
  Result<FitRecord> record = Error{};
  machine.threads().enter([&] {
    record = FitLoop(job, running, data, machine, line, std::move(start), hooks)
                 .run();
  });
  return record;
}

}  // namespace plimsoll::train
