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
Asked strongest(const BudgetRequest& request) {
  if (request.flag) return {&*request.flag, "--host-memory"};
  if (request.environment && !request.environment->empty()) {
    return {&*request.environment, "PLIMSOLL_HOST_MEMORY"};
  }
  if (request.job_file) return {&*request.job_file, "job file"};
  return {};
}

}  // namespace

Result<Budget> resolve_host_budget(const BudgetRequest& request,
                                   const SystemMemory& system) {
  const Asked asked = strongest(request);
  const auto least =
      std::min_element(system.limits.begin(), system.limits.end(),
                       [](const SystemLimit& a, const SystemLimit& b) {
                         return a.bytes < b.bytes;
                       });
  if (asked.text == nullptr) {
    if (least == system.limits.end()) {
      return Budget{system.total_bytes, "system memory"};
    }
    return Budget{least->bytes, least->source};
  }
  Result<std::int64_t> bytes = parse_size(*asked.text, system.total_bytes);
  if (!bytes) {
    return Error{bytes.error().code,
                 fmt::format("{}: {}", asked.source, bytes.error().message)};
  }
  if (least == system.limits.end() || *bytes <= least->bytes) {
    return Budget{*bytes, asked.source};
  }
  return Budget{least->bytes, fmt::format("{} (below {} {})", least->source,
                                          asked.source, *asked.text)};
}

}  // namespace plimsoll
