// The files of a run: plan.json, log.jsonl, summary.json, checkpoints/.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "train/fit.h"

namespace plimsoll::train {

class RunDirectory {
 public:
  // A new run (not `resuming`) removes what an earlier one left to resume.
  static Result<std::unique_ptr<RunDirectory>> create(const std::string& path,
                                                      bool resuming);

  Status write_plan(const std::string& json);
  Status write_summary(const std::string& json);
  // `loss_scale` of jobs that have one; `note`, if any, is for people to read.
  Status log_epoch(const FitRecord& record, const Progress& progress,
                   std::optional<double> loss_scale, const std::string& note);
  const std::string& path() const { return path_; }

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::ofstream log_;
};

// The epoch's values, one by one.
Status send_scalars(const FitRecord& record, const Progress& progress,
                    const ScalarSink& sink);

std::string summary_path(const std::string& run_dir);
// Whether a summary's text is that of a run that ended with an error.
bool says_failed(const std::string& summary);

struct MeasuredDevice {
  std::int64_t mapped_bytes = 0;  // at the driver's own call, the most
  std::int64_t peak_bytes = 0;    // of our samples of the whole process
  std::string method;             // of the figure for the whole process
};

// What was counted while the job ran.
struct Measured {
  std::int64_t mapped_bytes = 0;        // at the system's own call, the most
  std::int64_t arena_height_bytes = 0;  // of the ranges launches were given
  std::vector<Holding> ledger;          // who held what at the end
  // Left out because of errors, by jobs that ask for it.
  std::optional<std::int64_t> skipped_elements;
  std::optional<MeasuredDevice> device;
};

// The contract's summary: forecast against measured. `failure`: why training
// ended early; empty when it did not.
std::string summary_json(const plan::JobPlan& plan, const FitRecord& record,
                         const Measured& measured,
                         const std::string& failure = "");

}  // namespace plimsoll::train
