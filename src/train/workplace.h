// Where a job is planned and run: budgets, and the machine with its device.
#pragma once

#include <memory>
#include <optional>

#include "memory/budget.h"
#include "train/machine.h"
#include "train/trainer.h"

namespace plimsoll::train {

struct Workplace {
  std::unique_ptr<Machine> machine;
  SystemMemory system;
  Budget budget;
  // Of a device with memory of its own, and the most one could ask for there.
  std::optional<Budget> device_budget;
  std::int64_t device_most_bytes = 0;
  // Whether jobs take what they need, or all that they may.
  bool host_growth = true;
  bool device_growth = true;
};

Result<Workplace> open_workplace(const JobSpec& job, const RunOptions& options);

}  // namespace plimsoll::train
