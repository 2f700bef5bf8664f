#include "train/exhaustion.h"

#include <map>

#include "plan/search.h"
#include "train/remedies.h"

namespace plimsoll::train {
namespace {

constexpr std::int64_t kLargestBatch = 65536;

// Weighs a batch once, whichever memory is asked about; empty: past the
// pipeline's share.
class BatchWeights {
 public:
  BatchWeights(const JobSpec& job, const JobData& data, Machine& machine)
      : job_(job), data_(data), machine_(machine) {}

  Result<std::optional<JobWeight>> operator()(std::int64_t batch) {
    if (const auto known = known_.find(batch); known != known_.end()) {
      return known->second;
    }
    job_.train.batch = batch;
    auto weight = weigh(job_, data_, machine_);
    std::optional<JobWeight> kept;
    if (weight) {
      kept = *weight;
    } else if (weight.error().code != ErrorCode::does_not_fit) {
      return weight.error();
    }
    known_.emplace(batch, kept);
    return kept;
  }

 private:
  JobSpec job_;
  const JobData& data_;
  Machine& machine_;
  std::map<std::int64_t, std::optional<JobWeight>> known_;
};

double load(std::int64_t peak_bytes, const Budget& budget) {
  return static_cast<double>(peak_bytes) /
         static_cast<double>(std::max<std::int64_t>(budget.bytes, 1));
}

std::optional<std::string> first_of(const PlanReport& report) {
  if (!report.fits) {
    const bool device =
        report.plan.device &&
        load(report.plan.device->peak_bytes, *report.device_budget) >
            load(report.plan.host.peak_bytes, report.host_budget);
    return device ? "device" : "host";
  }
  if (report.device_exhausts_at &&
      (!report.host_exhausts_at ||
       *report.device_exhausts_at < *report.host_exhausts_at)) {
    return "device";
  }
  if (report.host_exhausts_at) return "host";
  return std::nullopt;
}

}  // namespace

Status find_exhaustion(const JobSpec& job, const JobData& data,
                       Machine& machine, PlanReport& report) {
  BatchWeights weights(job, data, machine);
  PLIMSOLL_ASSIGN(
      report.host_exhausts_at,
      plan::smallest_failing(
          1, kLargestBatch, [&](std::int64_t batch) -> Result<bool> {
            PLIMSOLL_ASSIGN(const auto weight, weights(batch));
            // The share is the host's.
            return weight &&
                   weight->host_peak_bytes <= report.host_budget.bytes;
          }));
  if (report.device_budget) {
    PLIMSOLL_ASSIGN(
        report.device_exhausts_at,
        plan::smallest_failing(
            1, kLargestBatch, [&](std::int64_t batch) -> Result<bool> {
              PLIMSOLL_ASSIGN(const auto weight, weights(batch));
              return !weight ||
                     weight->device_peak_bytes <= report.device_budget->bytes;
            }));
  }
  report.first_to_exhaust = first_of(report);
  return {};
}

}  // namespace plimsoll::train
