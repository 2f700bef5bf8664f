// Schedules of the learning rate: pure functions of the step, with the names,
// defaults and formulas of Keras (ops/update/step_function.h).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/builder.h"
#include "train/job_spec.h"
#include "train/layers/layer_key.h"

namespace plimsoll::train {

struct ScheduleNumber {
  std::string_view key;
  double ScheduleSpec::*field = nullptr;
  RealRange range = {};
  bool required = false;
};
struct ScheduleSwitch {
  std::string_view key;
  bool ScheduleSpec::*field = nullptr;
};
struct ScheduleDef {
  std::string_view type;
  std::vector<ScheduleNumber> numbers;
  std::vector<ScheduleSwitch> switches = {};
  bool pieces = false;  // has `boundaries` and `values`
};

std::span<const ScheduleDef> schedule_defs();
const ScheduleDef* find_schedule(std::string_view type);

// Names the key and what would be right.
Status check_schedule(const ScheduleSpec& schedule);

// What stands for it where one number has to: its start, or what it warms up
// to.
double nominal_rate(const ScheduleSpec& schedule);
// The rate of the update that `step` others went before.
graph::ValueId scheduled_rate(graph::Builder& builder,
                              const ScheduleSpec& schedule, graph::ValueId step,
                              DType dtype);

}  // namespace plimsoll::train
