#include "train/schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/update/step_function.h"

namespace plimsoll::train {
namespace {

using Spec = ScheduleSpec;

constexpr ScheduleNumber kInitial = {
    "initial_learning_rate", &Spec::initial_learning_rate, kAboveZero, true};
constexpr ScheduleNumber kDecaySteps = {"decay_steps", &Spec::decay_steps,
                                        kAboveZero, true};
constexpr ScheduleNumber kDecayRate = {"decay_rate", &Spec::decay_rate,
                                       kAboveZero, true};

std::vector<ScheduleDef> make_defs() {
  const ScheduleSwitch staircase{"staircase", &Spec::staircase};
  // A warm-up starts at 0 as often as not.
  const ScheduleNumber warm_start{
      "initial_learning_rate", &Spec::initial_learning_rate, {}, true};
  return {
      {"exponential_decay", {kInitial, kDecaySteps, kDecayRate}, {staircase}},
      {"inverse_time_decay", {kInitial, kDecaySteps, kDecayRate}, {staircase}},
      {"polynomial_decay",
       {kInitial,
        kDecaySteps,
        {"end_learning_rate", &Spec::end_learning_rate},
        {"power", &Spec::power, kAboveZero}},
       {{"cycle", &Spec::cycle}}},
      {"cosine_decay",
       {warm_start,
        kDecaySteps,
        {"alpha", &Spec::alpha},
        {"warmup_target", &Spec::warmup_target},
        {"warmup_steps", &Spec::warmup_steps}}},
      {"piecewise_constant", {}, {}, true}};
}

Error mistake(const ScheduleSpec& schedule, std::string_view why) {
  return {ErrorCode::bad_input, fmt::format("{}: {}", schedule.type, why)};
}

Status check_pieces(const ScheduleSpec& schedule) {
  const auto& boundaries = schedule.boundaries;
  if (boundaries.empty() || schedule.values.size() != boundaries.size() + 1) {
    return mistake(schedule,
                   fmt::format("`values` must be one more than `boundaries`, "
                               "which are at least one; there are {} and {}",
                               schedule.values.size(), boundaries.size()));
  }
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (RealRange{}.holds(boundaries[i]) &&
        (i == 0 || boundaries[i] > boundaries[i - 1])) {
      continue;
    }
    return mistake(schedule, "`boundaries` must be steps that rise");
  }
  for (const double value : schedule.values) {
    if (!RealRange{}.holds(value)) {
      return mistake(schedule, fmt::format("`values` must be {}, not {}",
                                           wording(RealRange{}), value));
    }
  }
  return {};
}

graph::Attrs attrs_of(const ScheduleSpec& schedule) {
  graph::Attrs attrs{{"function", schedule.type}};
  const ScheduleDef* const def = find_schedule(schedule.type);
  if (def == nullptr) return attrs;
  for (const ScheduleNumber& number : def->numbers) {
    attrs.set(std::string(number.key), schedule.*number.field);
  }
  for (const ScheduleSwitch& one : def->switches) {
    attrs.set(std::string(one.key), schedule.*one.field);
  }
  if (def->pieces) {
    attrs.set("boundaries", schedule.boundaries);
    attrs.set("values", schedule.values);
  }
  return attrs;
}

}  // namespace

std::span<const ScheduleDef> schedule_defs() {
  static const std::vector<ScheduleDef> defs = make_defs();
  return defs;
}

const ScheduleDef* find_schedule(std::string_view type) {
  const auto defs = schedule_defs();
  const auto found =
      std::find_if(defs.begin(), defs.end(),
                   [&](const ScheduleDef& def) { return def.type == type; });
  return found == defs.end() ? nullptr : &*found;
}

Status check_schedule(const ScheduleSpec& schedule) {
  const ScheduleDef* const def = find_schedule(schedule.type);
  if (def == nullptr) {
    return Error{ErrorCode::bad_input,
                 fmt::format("unknown schedule `{}`", schedule.type)};
  }
  for (const ScheduleNumber& number : def->numbers) {
    const double value = schedule.*number.field;
    if (number.range.holds(value)) continue;
    return mistake(schedule, fmt::format("`{}` must be {}, not {}", number.key,
                                         wording(number.range), value));
  }
  if (def->pieces) return check_pieces(schedule);
  if (schedule.warmup_steps > 0 && schedule.warmup_target == 0) {
    return mistake(schedule, "`warmup_steps` needs a `warmup_target` above 0");
  }
  return {};
}

double nominal_rate(const ScheduleSpec& schedule) {
  if (schedule.warmup_target > 0) return schedule.warmup_target;
  const auto function = ops::StepFunction::of(attrs_of(schedule));
  return function ? function->at(0) : 0;
}

graph::ValueId scheduled_rate(graph::Builder& builder,
                              const ScheduleSpec& schedule, graph::ValueId step,
                              DType dtype) {
  return ops::step_function(builder, step, dtype, attrs_of(schedule));
}

}  // namespace plimsoll::train
