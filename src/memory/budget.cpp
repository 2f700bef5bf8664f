#include "memory/budget.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll {
namespace {

struct Asked {
  const std::string* text = nullptr;
  const char* source = nullptr;
};

// The strongest word of the user. An empty variable is an unset one.
Asked strongest(const BudgetRequest& request, const char* flag,
                const char* variable) {
  if (request.flag) return {&*request.flag, flag};
  if (request.environment && !request.environment->empty()) {
    return {&*request.environment, variable};
  }
  if (request.job_file) return {&*request.job_file, "job file"};
  return {};
}

// What was asked for, or `limit` where that is less.
Result<Budget> cut(const Asked& asked, std::int64_t total_bytes,
                   const SystemLimit* limit) {
  Result<std::int64_t> bytes = parse_size(*asked.text, total_bytes);
  if (!bytes) {
    return Error{bytes.error().code,
                 fmt::format("{}: {}", asked.source, bytes.error().message)};
  }
  if (limit == nullptr || *bytes <= limit->bytes) {
    return Budget{*bytes, asked.source};
  }
  return Budget{limit->bytes, fmt::format("{} (below {} {})", limit->source,
                                          asked.source, *asked.text)};
}

}  // namespace

Result<Budget> resolve_host_budget(const BudgetRequest& request,
                                   const SystemMemory& system) {
  const Asked asked =
      strongest(request, "--host-memory", "PLIMSOLL_HOST_MEMORY");
  const auto found =
      std::min_element(system.limits.begin(), system.limits.end(),
                       [](const SystemLimit& a, const SystemLimit& b) {
                         return a.bytes < b.bytes;
                       });
  const SystemLimit* least = found == system.limits.end() ? nullptr : &*found;
  if (asked.text != nullptr) return cut(asked, system.total_bytes, least);
  if (least == nullptr) return Budget{system.total_bytes, "system memory"};
  return Budget{least->bytes, least->source};
}

Result<Budget> resolve_device_budget(const BudgetRequest& request,
                                     const DeviceMemory& device) {
  SystemLimit limit =
      device.free_bytes
          ? SystemLimit{*device.free_bytes, "free device memory"}
          : SystemLimit{device.total_bytes,
                        fmt::format("total device memory of {} profile",
                                    device.profile)};
  if (device.limit && device.limit->bytes < limit.bytes) limit = *device.limit;
  const Asked asked =
      strongest(request, "--device-memory", "PLIMSOLL_DEVICE_MEMORY");
  if (asked.text != nullptr) return cut(asked, device.total_bytes, &limit);
  return Budget{limit.bytes, limit.source};
}

}  // namespace plimsoll
