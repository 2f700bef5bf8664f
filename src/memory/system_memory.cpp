#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "memory/budget.h"
#include "memory/cgroup.h"
#include "memory/proc_text.h"

namespace plimsoll {
namespace {

// What this process holds already: it counts against the same budget, so it
// is added back to what the system says is left.
struct OwnMemory {
  std::int64_t address_bytes = 0;  // whole address space
  std::int64_t data_bytes = 0;     // private writable, touched or not
  std::int64_t resident_bytes = 0;
  std::int64_t anonymous_bytes = 0;  // the part that no file backs
};

OwnMemory read_own_memory(const std::string& root) {
  OwnMemory own;
  const auto status = read_text_file(root + "/proc/self/status");
  if (!status) return own;
  const auto field = [&](std::string_view key) {
    return kib_field(*status, key).value_or(0);
  };
  own.address_bytes = field("VmSize:");
  own.data_bytes = field("VmData:");
  own.resident_bytes = field("VmRSS:") + field("VmSwap:");
  own.anonymous_bytes = field("RssAnon:") + field("RssShmem:");
  return own;
}

// A soft limit of /proc/self/limits; nothing when unlimited.
std::optional<std::int64_t> resource_limit(std::string_view limits,
                                           std::string_view name) {
  const auto field = find_field(limits, name);
  return field ? leading_number(*field) : std::nullopt;
}

void add_limit(SystemMemory& system, std::int64_t bytes, std::string source) {
  system.limits.push_back(
      {std::max<std::int64_t>(bytes, 0), std::move(source)});
}

// Address space that is reserved but not resident (thread stacks, code never
// run) is gone from these limits without ever counting as resident.
void add_resource_limits(const std::string& root, const OwnMemory& own,
                         SystemMemory& system) {
  const auto limits = read_text_file(root + "/proc/self/limits");
  if (!limits) return;
  if (const auto most = resource_limit(*limits, "Max address space")) {
    const std::int64_t idle = own.address_bytes - own.resident_bytes;
    add_limit(system, *most - std::max<std::int64_t>(idle, 0), "RLIMIT_AS");
  }
  if (const auto most = resource_limit(*limits, "Max data size")) {
    const std::int64_t idle = own.data_bytes - own.anonymous_bytes;
    add_limit(system, *most - std::max<std::int64_t>(idle, 0), "RLIMIT_DATA");
  }
}

}  // namespace

Result<SystemMemory> read_system_memory(const std::string& root) {
  const std::string path = root + "/proc/meminfo";
  const auto meminfo = read_text_file(path);
  if (!meminfo) {
    return Error{ErrorCode::io, fmt::format("cannot read {}", path)};
  }
  const auto total = kib_field(*meminfo, "MemTotal:");
  const auto available = kib_field(*meminfo, "MemAvailable:");
  if (!total || !available) {
    return Error{ErrorCode::io,
                 fmt::format("{} lacks MemTotal or MemAvailable", path)};
  }
  SystemMemory system;
  system.total_bytes = *total;
  system.available_bytes = *available;
  system.swap_total_bytes = kib_field(*meminfo, "SwapTotal:").value_or(0);
  system.swap_free_bytes = kib_field(*meminfo, "SwapFree:").value_or(0);

  const OwnMemory own = read_own_memory(root);
  for (CgroupMemory& group : read_cgroup_memory(root, own.anonymous_bytes)) {
    system.total_bytes = std::min(system.total_bytes, group.limit_bytes);
    add_limit(system, group.limit_bytes - group.others_bytes,
              "cgroup limit at " + group.name);
  }
  add_resource_limits(root, own, system);
  add_limit(system, *available + own.anonymous_bytes, "available memory");
  return system;
}

}  // namespace plimsoll
