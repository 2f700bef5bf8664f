// Devices of this process: what there is, and the most that sessions may take.
// Set before the first session is opened; after that, setting throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::config {

struct PhysicalDevice {
  std::string name;  // "cpu", "cuda:0": what SessionOptions::device takes
  std::string kind;  // "cpu", "cuda"
  std::string model;
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;
};

// A device that sessions can use, under its limits.
struct LogicalDevice : PhysicalDevice {
  std::int64_t limit_bytes = 0;  // that would hold for a session now
  std::string limit_source;      // "pl::config limit", "available memory", ...
  bool memory_growth = true;
};

// Of one kind, or all. Without a GPU there is the CPU alone.
std::vector<PhysicalDevice> list_physical_devices(const std::string& kind = {});
std::vector<LogicalDevice> list_logical_devices(const std::string& kind = {});
// Why no cuda device can be used, in words; empty where one can.
std::string missing_cuda();

// With growth, the default, a job takes what its plan needs. Without, it takes
// the device's whole budget when it starts.
void set_memory_growth(const std::string& device, bool growth);
bool get_memory_growth(const std::string& device);

// A cap: a session's budget is the least of its own and this. "2GiB", or a
// percentage of the device's memory.
void set_memory_limit(const std::string& device, const std::string& size);

}  // namespace plimsoll::config
