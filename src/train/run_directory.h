// The files of a run: plan.json, log.jsonl, summary.json, checkpoints/, and a
// TensorBoard event file.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "report/tensorboard.h"
#include "train/fit.h"

namespace plimsoll::train {

class RunDirectory {
 public:
  static Result<std::unique_ptr<RunDirectory>> create(const std::string& path,
                                                      bool append_log);

  Status write_plan(const std::string& json);
  Status write_summary(const std::string& json);
  Status log_epoch(const FitRecord& record, const Progress& progress);
  const std::string& path() const { return path_; }

 private:
  RunDirectory(std::string path, report::EventWriter events)
      : path_(std::move(path)), events_(std::move(events)) {}

  std::string path_;
  report::EventWriter events_;
  std::ofstream log_;
};

// The contract's summary: forecast against measured.
std::string summary_json(const plan::JobPlan& plan, const FitRecord& record,
                         std::int64_t measured_pool_bytes,
                         std::int64_t recorded_height_bytes);

}  // namespace plimsoll::train
