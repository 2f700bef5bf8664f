#include "cli/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<SystemLimit> tightest_first(const SystemMemory& memory) {
  std::vector<SystemLimit> limits = memory.limits;
  std::stable_sort(limits.begin(), limits.end(),
                   [](const SystemLimit& a, const SystemLimit& b) {
                     return a.bytes < b.bytes;
                   });
  return limits;
}

bool is_cgroup(const SystemLimit& limit) {
  return limit.source.find("cgroup") != std::string::npos;
}

Json cuda_json(const CudaListing& cuda) {
  Json devices = Json::array();
  for (const GpuListing& gpu : cuda.devices) {
    const auto rate = [&](double DeviceProfile::*field) {
      return gpu.profile ? Json((*gpu.profile).*field) : Json();
    };
    devices.push_back(
        {{"name", fmt::format("cuda:{}", devices.size())},
         {"model", gpu.facts.name},
         {"uuid", gpu.facts.uuid},
         {"compute_capability", fmt::format("{}.{}", gpu.facts.capability_major,
                                            gpu.facts.capability_minor)},
         {"total", gpu.facts.total_bytes},
         {"free", gpu.facts.free_bytes},
         {"budget",
          {{"bytes", gpu.budget.bytes}, {"source", gpu.budget.source}}},
         {"copy_to_device_bytes_per_second",
          rate(&DeviceProfile::copy_to_device_bytes_per_second)},
         {"copy_to_host_bytes_per_second",
          rate(&DeviceProfile::copy_to_host_bytes_per_second)}});
  }
  return {{"built", cuda.built},
          {"devices", devices},
          {"missing", cuda.missing.empty() ? Json() : Json(cuda.missing)}};
}

}  // namespace

std::string devices_text(const CpuInfo& cpu, const SystemMemory& memory,
                         const Budget& budget, const CudaListing& cuda) {
  std::string text =
      fmt::format("cpu      {}\n         {} core{} usable of {}, {}\n",
                  cpu.brand, cpu.usable_cores, cpu.usable_cores == 1 ? "" : "s",
                  cpu.affinity_cores, name_of(cpu.instruction_set));
  text += fmt::format("memory   {} total, {} available\n",
                      format_bytes(memory.total_bytes),
                      format_bytes(memory.available_bytes));
  if (memory.swap_total_bytes > 0) {
    text += fmt::format("swap     {} total, {} free\n",
                        format_bytes(memory.swap_total_bytes),
                        format_bytes(memory.swap_free_bytes));
  } else {
    text += "swap     none\n";
  }
  const std::vector<SystemLimit> limits = tightest_first(memory);
  if (std::none_of(limits.begin(), limits.end(), is_cgroup))
    text += "cgroup   no limit\n";
  bool first = true;
  for (const SystemLimit& limit : limits) {
    text += fmt::format("{:<9}{} ({}){}\n", first ? "limits" : "",
                        format_bytes(limit.bytes), limit.source,
                        first ? ": binds" : "");
    first = false;
  }
  text += fmt::format("budget   {} unless a job says less, from {}\n",
                      format_bytes(budget.bytes), budget.source);
  return text + cuda_text(cuda);
}

std::string devices_json(const CpuInfo& cpu, const SystemMemory& memory,
                         const Budget& budget, const CudaListing& cuda) {
  Json json;
  json["devices"] = Json::array();
  json["devices"].push_back(
      {{"name", "cpu"},
       {"model", cpu.brand},
       {"cores", cpu.affinity_cores},
       {"usable_cores", cpu.usable_cores},
       {"instruction_set", std::string(name_of(cpu.instruction_set))}});
  json["memory"] = {{"total", memory.total_bytes},
                    {"available", memory.available_bytes},
                    {"swap_total", memory.swap_total_bytes},
                    {"swap_free", memory.swap_free_bytes}};
  json["limits"] = Json::array();
  bool first = true;
  json["cgroup_limit"] = nullptr;
  for (const SystemLimit& limit : tightest_first(memory)) {
    json["limits"].push_back(
        {{"source", limit.source}, {"bytes", limit.bytes}, {"binds", first}});
    first = false;
    if (is_cgroup(limit) && json["cgroup_limit"].is_null())
      json["cgroup_limit"] = limit.bytes;
  }
  json["budget"] = {{"bytes", budget.bytes}, {"source", budget.source}};
  json["cuda"] = cuda_json(cuda);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::cli
