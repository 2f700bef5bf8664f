// The plan of a whole job: programs, the arena they share, the forecast.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "memory/budget.h"
#include "memory/purpose.h"
#include "plan/program_plan.h"

namespace plimsoll::plan {

using Accounts = std::array<std::int64_t, kPurposes>;  // bytes, by Purpose
std::int64_t total(const Accounts& accounts);

struct StateNeed {
  std::string name;
  graph::Role role = graph::Role::parameter;
  graph::TensorType type;
  graph::Place place = graph::Place::home;
};

// What it must hold in a device's own memory beside its programs and states.
struct DeviceNeeds {
  std::int64_t alignment_bytes = 256;  // of every buffer
  std::int64_t granularity_bytes = 2 << 20;
  int input_slots = 1;
  std::int64_t input_slot_bytes = 0;     // one batch of all inputs, aligned
  std::int64_t runtime_floor_bytes = 0;  // the driver's own for the process
  std::int64_t kernel_bytes = 0;
  std::int64_t allowance_bytes = 0;
};

// What the job must hold beside its programs.
struct JobNeeds {
  std::vector<StateNeed> states;
  std::int64_t slot_bytes = 0;  // one batch of all inputs, aligned
  int slots = 1;                // the staging ring
  std::int64_t pipeline_bytes = 0;
  std::int64_t user_bytes = 0;           // whole data sets held in memory
  std::int64_t runtime_floor_bytes = 0;  // measured by calibration
  std::int64_t kernel_bytes = 0;         // kernels' private memory
  std::int64_t allowance_bytes = 0;      // what calibration cannot know
  std::int64_t page_bytes = 4096;
  std::optional<DeviceNeeds> device;  // empty: programs run in host memory
};

// The arena that programs run in, from its start: states (parameters,
// statistics, counters and metrics, then the optimizer's, then gradients; each
// group in the order of JobNeeds), staging slots, pipeline, transient. On a
// device: its input slots as staging, and no pipeline.
struct ArenaLayout {
  std::vector<std::int64_t> state_offsets;  // by JobNeeds::states; -1: host's
  std::int64_t staging_offset = 0;
  std::int64_t pipeline_offset = 0;
  std::int64_t transient_offset = 0;
  std::int64_t bytes = 0;  // whole pages
  friend bool operator==(const ArenaLayout&, const ArenaLayout&) = default;
};

// Host memory for a device's values: losses that come back, and pieces of
// states on their way to and from files.
inline constexpr std::int64_t kValuesBytes = 1 << 20;

// The host's side of a job on a device, from its start: states of what runs on
// the host, room for values that come back, staging slots, pipeline, transient
// buffers of what runs on the host. All 0 without a device.
struct HostLayout {
  std::vector<std::int64_t> state_offsets;  // by JobNeeds::states; -1: device's
  std::int64_t values_offset = 0;
  std::int64_t staging_offset = 0;
  std::int64_t pipeline_offset = 0;
  std::int64_t transient_offset = 0;
  std::int64_t bytes = 0;  // whole pages
  friend bool operator==(const HostLayout&, const HostLayout&) = default;
};

struct SpaceForecast {
  std::int64_t peak_bytes = 0;  // the whole process
  std::int64_t pool_bytes = 0;  // planned pools: what will be mapped
  Accounts accounts{};          // at the peak; adds up to it
  friend bool operator==(const SpaceForecast&, const SpaceForecast&) = default;
};

struct JobPlan {
  std::vector<ProgramPlan> programs;
  ArenaLayout arena;      // on the device, where there is one
  HostLayout host_arena;  // only then
  SpaceForecast host;
  std::optional<SpaceForecast> device;
  std::string
      fingerprint;  // library versions, instruction set, threads, device
  friend bool operator==(const JobPlan&, const JobPlan&) = default;
};

// The accounts of a space are those of the program with the greatest height
// there. Padding
// belongs to what it pads, except that bytes lost between transient buffers
// and at the end of the arena's last page count as scratch. `user` is a mapping
// of its own, in whole pages. Sizes that are negative or pass 2^62 are errors
// that name the part.
Result<JobPlan> lay_out(const JobNeeds& needs,
                        std::vector<ProgramPlan> programs,
                        std::string fingerprint);

// Plan files. Reading checks every type and range and names what is wrong.
std::string to_json(const JobPlan& plan);
Result<JobPlan> job_plan_from_json(const std::string& text);

}  // namespace plimsoll::plan
