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

bool halve(Variant& variant) {
  if (variant.job.train.precision != DType::f32) return false;
  variant.job.train.precision = DType::bf16;
  variant.note(
      "compute in bf16 instead of f32, with parameters in f32 (the result "
      "differs by rounding)",
      "--precision bf16");
  return true;
}

bool simplify_optimizer(Variant& variant) {
  OptimizerSpec& optimizer = variant.job.train.optimizer;
  if (optimizer.type == "sgd" && optimizer.momentum == 0) return false;
  OptimizerSpec plain;
  plain.type = "sgd";
  plain.learning_rate = optimizer.learning_rate;
  optimizer = plain;
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
      : job_(job),
        now_(now),
        limits_(limits),
        line_(limits),
        machine_(machine) {}

  Result<std::vector<Remedy>> run() {
    PLIMSOLL_RETURN_IF_ERROR(search());
    add_larger_budgets();
    if (!found_.empty() || !limits_.device) return std::move(found_);
    // One memory has too little for the job as it is: more of the other may
    // still help a smaller one.
    for (const bool host : {true, false}) {
      line_ = limits_;
      SpaceLimit& raised = host ? line_.host : *line_.device;
      raised.budget_bytes = std::max(raised.budget_bytes, raised.most_bytes);
      PLIMSOLL_RETURN_IF_ERROR(search());
    }
    return std::move(found_);
  }

 private:
  // Everything that keeps the line, cheapest first.
  Status search() {
    using Change = bool (*)(Variant&);
    const std::vector<std::vector<Change>> sets = {
        {stream},
        {shrink_ring},
        {narrow},
        {halve},
        {},
        {stream, shrink_ring},
        {stream, narrow},
        {stream, halve},
        {stream, narrow, shrink_ring},
        {stream, halve, shrink_ring}};
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
    return {};
  }

  bool keeps_line(const JobWeight& weight) const {
    const auto keeps = [](std::int64_t peak, const SpaceLimit& limit) {
      return peak + limit.held_bytes <= limit.budget_bytes;
    };
    return keeps(weight.host_peak_bytes, line_.host) &&
           (!line_.device || keeps(weight.device_peak_bytes, *line_.device));
  }

  // The variant as it is, or else with the largest batch that fits.
  Status consider(Variant variant) {
    if (!variant.apply.empty()) {
      PLIMSOLL_ASSIGN(const JobWeight weight, weigh(variant.job, machine_));
      if (keeps_line(weight)) {
        keep(std::move(variant), weight);
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
    keep(std::move(variant), weight);
    return {};
  }

  Result<bool> fits(JobSpec job, std::int64_t batch) {
    job.train.batch = batch;
    PLIMSOLL_ASSIGN(const JobWeight weight, weigh(job, machine_));
    return keeps_line(weight);
  }

  void keep(Variant variant, const JobWeight& weight) {
    allow(weight, variant);
    for (const Remedy& known : found_) {
      // Adding changes to a remedy that works already is no new remedy.
      if (variant.apply.starts_with(known.apply)) return;
    }
    found_.push_back({variant.change, variant.apply,
                      now_.host_peak_bytes - weight.host_peak_bytes,
                      now_.device_peak_bytes - weight.device_peak_bytes,
                      weight.seconds_per_example / now_.seconds_per_example});
  }

  // Notes the larger budgets that a job of this weight needs.
  void allow(const JobWeight& weight, Variant& variant) const {
    const auto note = [&](std::int64_t peak, const SpaceLimit& limit,
                          const char* space) {
      if (peak + limit.held_bytes <= limit.budget_bytes) return;
      const std::int64_t needed = round_up(peak + limit.held_bytes, kMiB);
      variant.note(
          fmt::format("allow {} of {} memory", format_bytes(needed), space),
          fmt::format("--{}-memory {}MiB", space, needed / kMiB));
    };
    note(weight.host_peak_bytes, limits_.host, "host");
    if (limits_.device) {
      note(weight.device_peak_bytes, *limits_.device, "device");
    }
  }

  void add_larger_budgets() {
    const auto has = [](std::int64_t peak, const SpaceLimit& limit) {
      const std::int64_t needed = peak + limit.held_bytes;
      return needed <= limit.budget_bytes ||
             round_up(needed, kMiB) <= limit.most_bytes;
    };
    if (!has(now_.host_peak_bytes, limits_.host)) return;
    if (limits_.device && !has(now_.device_peak_bytes, *limits_.device)) return;
    Variant variant{job_, "", ""};
    allow(now_, variant);
    found_.push_back({variant.change, variant.apply, 0, 0, 1.0});
  }

  const JobSpec& job_;
  const JobWeight& now_;
  const RemedyLimits& limits_;
  RemedyLimits line_;  // that a remedy must keep now
  Machine& machine_;
  std::vector<Remedy> found_;
};

}  // namespace

RemedyLimits limits_of(const Workplace& place, const Line& held) {
  std::int64_t most = place.system.available_bytes;
  for (const SystemLimit& limit : place.system.limits) {
    most = std::min(most, limit.bytes);
  }
  RemedyLimits limits{{place.budget.bytes, most, held.host_bytes},
                      std::nullopt};
  if (place.device_budget) {
    limits.device = {place.device_budget->bytes, place.device_most_bytes,
                     held.device_bytes};
  }
  return limits;
}

JobWeight weight_of(const JobSpec& job, const PlannedJob& planned) {
  const plan::JobPlan& plan = planned.plan;
  return {plan.host.peak_bytes, plan.device ? plan.device->peak_bytes : 0,
          planned.step_seconds / static_cast<double>(job.train.batch)};
}

Result<JobWeight> weigh(const JobSpec& job, Machine& machine) {
  PLIMSOLL_ASSIGN(const JobData data,
                  open_data(job, machine.profile().threads));
  return weigh(job, data, machine);
}

Result<JobWeight> weigh(const JobSpec& job, const JobData& data,
                        Machine& machine) {
  PLIMSOLL_ASSIGN(const PlannedJob planned, plan_programs(job, data, machine));
  return weight_of(job, planned);
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
      job.train.precision == DType::f64 || takes_indices(job.model)) {
    return advice;
  }
  const std::int64_t bytes = input.examples() * features.most_bytes;
  const auto layout = data::feeder_layout(
      input.input, feeder_options(job, input, 1, job.train.precision,
                                  input.labels_field().dtype));
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
