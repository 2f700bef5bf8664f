#include "train/remedies.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "plan/search.h"

namespace plimsoll::train {
namespace {

// A job with some changes made, and how to ask for them.
struct Variant {
  JobSpec job;
  std::string change;
  std::string apply;

  void note(const std::string& what, const std::string& arguments) {
    change += (change.empty() ? "" : " and ") + what;
    apply += (apply.empty() ? "" : " ") + arguments;
  }
};

bool stream(Variant& variant) {
  if (variant.job.data.residency != "memory") return false;
  variant.job.data.residency = "stream";
  variant.note("stream the data instead of holding it in memory",
               "--set data.residency=stream");
  return true;
}

bool shrink_ring(Variant& variant) {
  auto& pipeline = variant.job.data.pipeline;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    if (pipeline[i].name != "prefetch" || prefetched(pipeline[i]) == 0) {
      continue;
    }
    pipeline[i].options["batches"] = std::int64_t{0};
    variant.note("read each batch when it is needed instead of ahead",
                 fmt::format("--set data.pipeline.{}.batches=0", i));
    return true;
  }
  return false;
}

bool narrow(Variant& variant) {
  if (variant.job.train.precision != DType::f64) return false;
  variant.job.train.precision = DType::f32;
  variant.note("train in f32 instead of f64", "--precision f32");
  return true;
}

bool simplify_optimizer(Variant& variant) {
  OptimizerSpec& optimizer = variant.job.train.optimizer;
  if (optimizer.type == "sgd" && optimizer.momentum == 0) return false;
  optimizer.type = "sgd";
  optimizer.momentum = 0;
  variant.note("use plain SGD, which keeps no state",
               fmt::format("--set 'train.optimizer={{type=\"sgd\","
                           "learning_rate={}}}'",
                           optimizer.learning_rate));
  return true;
}

class RemedySearch {
 public:
  RemedySearch(const JobSpec& job, const JobWeight& now,
               const RemedyLimits& limits, Machine& machine)
      : job_(job), now_(now), limits_(limits), machine_(machine) {}

  Result<std::vector<Remedy>> run() {
    using Change = bool (*)(Variant&);
    const std::vector<std::vector<Change>> sets = {
        {stream},
        {shrink_ring},
        {narrow},
        {},
        {stream, shrink_ring},
        {stream, narrow},
        {stream, narrow, shrink_ring}};
    for (const auto& changes : sets) {
      Variant variant{job_, "", ""};
      bool all = true;
      for (const Change change : changes) all = change(variant) && all;
      if (all) PLIMSOLL_RETURN_IF_ERROR(consider(std::move(variant)));
    }
    // Another algorithm is a last resort: only when nothing milder helps.
    if (found_.empty()) {
      Variant variant{job_, "", ""};
      stream(variant);
      narrow(variant);
      if (simplify_optimizer(variant)) {
        PLIMSOLL_RETURN_IF_ERROR(consider(std::move(variant)));
      }
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Remedy& a, const Remedy& b) {
                       return a.slowdown < b.slowdown;
                     });
    add_larger_budget();
    return std::move(found_);
  }

 private:
  // The variant as it is, or else with the largest batch that fits.
  Status consider(Variant variant) {
    if (!variant.apply.empty()) {
      PLIMSOLL_ASSIGN(const JobWeight weight, weigh(variant.job, machine_));
      if (weight.host_peak_bytes <= limits_.budget_bytes) {
        keep(variant, weight);
        return {};
      }
    }
    const std::int64_t batch = job_.train.batch;
    if (batch <= 1) return {};
    PLIMSOLL_ASSIGN(const auto failing,
                    plan::smallest_failing(1, batch, [&](std::int64_t smaller) {
                      return fits(variant.job, smaller);
                    }));
    if (!failing || *failing <= 1) return {};
    variant.job.train.batch = *failing - 1;
    variant.note(fmt::format("train with batches of {} instead of {}",
                             variant.job.train.batch, batch),
                 fmt::format("--batch {}", variant.job.train.batch));
    PLIMSOLL_ASSIGN(const JobWeight weight, weigh(variant.job, machine_));
    keep(variant, weight);
    return {};
  }

  Result<bool> fits(JobSpec job, std::int64_t batch) {
    job.train.batch = batch;
    PLIMSOLL_ASSIGN(const JobWeight weight, weigh(job, machine_));
    return weight.host_peak_bytes <= limits_.budget_bytes;
  }

  void keep(const Variant& variant, const JobWeight& weight) {
    for (const Remedy& known : found_) {
      // Adding changes to a remedy that works already is no new remedy.
      if (variant.apply.starts_with(known.apply)) return;
    }
    found_.push_back({variant.change, variant.apply,
                      now_.host_peak_bytes - weight.host_peak_bytes, 0,
                      weight.seconds_per_example / now_.seconds_per_example});
  }

  void add_larger_budget() {
    const std::int64_t needed = round_up(now_.host_peak_bytes, kMiB);
    if (needed > limits_.most_bytes) return;
    found_.push_back(
        {fmt::format("allow {} of host memory", format_bytes(needed)),
         fmt::format("--host-memory {}MiB", needed / kMiB), 0, 0, 1.0});
  }

  const JobSpec& job_;
  const JobWeight& now_;
  const RemedyLimits& limits_;
  Machine& machine_;
  std::vector<Remedy> found_;
};

}  // namespace

Result<JobWeight> weigh(const JobSpec& job, Machine& machine) {
  PLIMSOLL_ASSIGN(const JobData data,
                  open_data(job, machine.profile().threads));
  return weigh(job, data, machine);
}

Result<JobWeight> weigh(const JobSpec& job, const JobData& data,
                        Machine& machine) {
  PLIMSOLL_ASSIGN(const PlannedJob planned, plan_programs(job, data, machine));
  return JobWeight{planned.plan.host.peak_bytes,
                   planned.step_seconds / static_cast<double>(job.train.batch)};
}

Result<std::vector<Remedy>> find_remedies(const JobSpec& job,
                                          const JobWeight& now,
                                          const RemedyLimits& limits,
                                          Machine& machine) {
  return RemedySearch(job, now, limits, machine).run();
}

std::vector<Remedy> advice_on_data(const JobSpec& job, const JobData& data) {
  std::vector<Remedy> advice;
  const JobInput& input = data.input(Stage::train);
  const data::FieldSpec& features = input.features_field();
  if (job.data.source.name != "npy" || features.dtype != DType::f64 ||
      job.train.precision == DType::f64) {
    return advice;
  }
  const std::int64_t bytes = input.examples() * features.most_bytes;
  const auto layout = data::feeder_layout(
      input.input, feeder_options(job, input, 1, input.labels_field().dtype));
  const std::int64_t slice = layout ? layout->cast_bytes : 0;
  const std::int64_t saved = data.resident ? bytes / 2 : slice;
  advice.push_back(
      {fmt::format("store {} as float32: as f64 it costs {} of reading an "
                   "epoch instead of {}, and {} of memory to {}",
                   job.data.source.text("features", ""), format_bytes(bytes),
                   format_bytes(bytes / 2), format_bytes(saved),
                   data.resident ? "hold it" : "cast it slice by slice"),
       "", saved, 0, 1.0});
  return advice;
}

}  // namespace plimsoll::train
