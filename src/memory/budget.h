// How many bytes a job may use, and who said so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll {

struct Budget {
  std::int64_t bytes = 0;
  // "--host-memory", "PLIMSOLL_HOST_MEMORY", "job file", "available memory",
  // "cgroup limit at <path>", "RLIMIT_AS", ..., and the device's likewise: the
  // limit that binds.
  std::string source;
  friend bool operator==(const Budget&, const Budget&) = default;
};

// What the user asked for, by strength. Sizes are texts such as "2GiB", "40%".
struct BudgetRequest {
  std::optional<std::string> flag;
  std::optional<std::string> environment;
  std::optional<std::string> job_file;
};

// What the system allows this process.
struct SystemLimit {
  std::int64_t bytes = 0;
  std::string source;
};

struct SystemMemory {
  std::int64_t total_bytes = 0;      // of the machine, or of the cgroup if less
  std::int64_t available_bytes = 0;  // free without pushing others out
  std::int64_t swap_total_bytes = 0;
  std::int64_t swap_free_bytes = 0;
  std::vector<SystemLimit> limits;  // cgroups (less what others in them hold),
                                    // resource limits, available memory
};

// The least of the request and every limit. With no request: the least limit.
// A request above a limit is cut to it and the source says so.
Result<Budget> resolve_host_budget(const BudgetRequest& request,
                                   const SystemMemory& system);

// A device's own memory.
struct DeviceMemory {
  std::int64_t total_bytes = 0;
  std::optional<std::int64_t> free_bytes;  // empty: planned from a profile
  std::string profile;                     // its name, for people
  std::optional<SystemLimit> limit = {};   // that the process was set
};

// The least of the request, the limit, and what is free, or where nobody knows
// that, of all there is. A percentage is of the total.
Result<Budget> resolve_device_budget(const BudgetRequest& request,
                                     const DeviceMemory& device);

// Reads /proc and the cgroup tree (v1 and v2, all ancestors). `root` is
// prepended to every path, for tests.
Result<SystemMemory> read_system_memory(const std::string& root = "");

}  // namespace plimsoll
