// Planning and training of whole jobs: what the command line and the C++ API
// call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/explain.h"
#include "memory/budget.h"
#include "plan/job_plan.h"
#include "train/job_spec.h"
#include "train/kernel_list.h"
#include "train/layer_summary.h"

namespace plimsoll::train {

// What the command line adds to a job.
struct RunOptions {
  std::optional<std::string> host_memory_flag;
  std::optional<std::string> host_memory_env;
  std::optional<std::string> device_memory_flag;
  std::optional<std::string> device_memory_env;
  std::string device = "cpu";
  // A shipped profile to plan for, in place of `device`; not for training.
  std::optional<std::string> device_profile;
  int threads = 0;  // 0: all usable cores
  // A job that calibrates: the device's figures are estimates still.
  bool rehearsal = false;
  // A program with the command `calibrate`; empty: see calibration.h.
  std::string calibrator;
  // A program with the command `compile-kernel`; empty: see cuda_device.h.
  std::string compiler;
};

// A change that makes a job fit, or fit with more room.
struct Remedy {
  std::string change;  // in words
  std::string apply;   // command-line arguments; empty: not a matter of flags
  std::int64_t host_bytes_saved = 0;
  std::int64_t device_bytes_saved = 0;
  double slowdown = 1;  // seconds an example, new over old
};

struct Choices {
  std::int64_t micro_batch = 0;
  std::int64_t accumulation_steps = 1;
  std::int64_t recomputed_ops = 0;
  std::int64_t offloaded_bytes = 0;
  std::string precision;
  std::int64_t prefetch_batches = 0;
  std::string numerics = "bitwise";
};

// How the input is made, stage by stage.
struct PipelineReport {
  data::PipelineCost cost;
  int readers = 0;
  int slots = 0;
  std::int64_t pipeline_bytes = 0;
  std::int64_t staging_bytes = 0;
  std::int64_t share_bytes = 0;  // 0: none was set
  double batch_seconds = 0;      // by all readers together
  double step_seconds = 0;       // training without waiting
  std::string reason;            // of readers and slots
};

struct PlanReport {
  bool fits = false;
  bool exact = true;
  Budget host_budget;
  std::optional<Budget> device_budget;  // empty on the CPU
  plan::JobPlan plan;
  std::optional<std::string> first_to_exhaust;
  std::optional<std::int64_t> host_exhausts_at;    // batch
  std::optional<std::int64_t> device_exhausts_at;  // batch
  Choices choices;
  double input_seconds = 0;
  double copy_seconds = 0;
  double compute_seconds = 0;
  double step_seconds = 0;
  std::vector<Remedy> remedies;
  std::vector<std::string> notes;
  std::string refusal;  // why it does not fit, in words
  std::uint64_t numerics_key = 0;
  std::int64_t runtime_floor_bytes = 0;
  std::int64_t allowance_bytes = 0;
  std::int64_t device_runtime_floor_bytes = 0;
  std::int64_t device_allowance_bytes = 0;
  std::optional<PipelineReport> pipeline;
  std::vector<LayerRow> layers;                 // what each holds
  std::vector<std::vector<KernelUse>> kernels;  // of each program
};

struct SweepRow {
  std::int64_t value = 0;
  std::int64_t host_peak_bytes = 0;
  bool fits = false;
  double step_seconds = 0;
  // Empty on the CPU.
  std::optional<std::int64_t> device_peak_bytes = std::nullopt;
};

struct Progress {
  std::int64_t epoch = 0;  // from 1
  std::int64_t epochs = 0;
  std::int64_t step = 0;  // in the epoch
  std::int64_t steps = 0;
  double loss = 0;  // mean since the epoch began
  double examples_per_second = 0;
  double eta_seconds = 0;
  std::int64_t host_bytes = 0;
  std::int64_t host_budget_bytes = 0;
  std::int64_t device_bytes = 0;
  std::int64_t device_budget_bytes = 0;  // 0 on the CPU
  std::vector<std::pair<std::string, double>> metrics;
  bool epoch_end = false;
  std::optional<double> validation_loss;
};

// Takes a named value of a step: into a TensorBoard file, say.
using ScalarSink = std::function<Status(const std::string& tag,
                                        std::int64_t step, double value)>;

struct TrainRequest {
  std::string run_dir;  // empty: nothing is written
  bool resume = false;
  // Opens what takes the scalars, once the run directory is there; may be
  // empty.
  std::function<Result<ScalarSink>(const std::string& run_dir)> open_scalars;
  std::function<void(const Progress&)> on_progress;
  // What people should know while it trains, a sentence.
  std::function<void(const std::string&)> on_note;
  const std::atomic<bool>* stop = nullptr;
};

struct TrainOutcome {
  std::int64_t steps = 0;
  bool stopped = false;  // on request, with a checkpoint written
  std::string run_dir;
  std::string summary_json;
  std::int64_t planning_peak_bytes = 0;  // of the process, before pools
  std::int64_t rss_peak_bytes = 0;
  std::int64_t pool_peak_bytes = 0;
  std::int64_t kernel_bytes = 0;  // planned as the kernels' own
  std::int64_t device_peak_bytes = 0;
  std::int64_t device_pool_bytes = 0;
  bool device_shared = false;     // by others, and not told apart
  std::int64_t instructions = 0;  // of all programs
  std::int64_t graph_values = 0;  // likewise, as PlannedJob has them
};

Result<PlanReport> plan_job(const JobSpec& job, const RunOptions& options);

// `key` is "batch" or "examples"; rows from `from` to `to`, doubling.
Result<std::vector<SweepRow>> sweep_job(const JobSpec& job,
                                        const RunOptions& options,
                                        const std::string& key,
                                        std::int64_t from, std::int64_t to);

// A job that does not fit is refused before anything is allocated, with
// ErrorCode::does_not_fit; plan_job() tells why.
Result<TrainOutcome> train_job(const JobSpec& job, const RunOptions& options,
                               const TrainRequest& request);

}  // namespace plimsoll::train
