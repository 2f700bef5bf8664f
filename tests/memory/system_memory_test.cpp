#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "memory/budget.h"
#include "memory/planted_root.h"

namespace plimsoll {
namespace {

constexpr const char* kMeminfo =
    "MemTotal:       16777216 kB\n"
    "MemFree:         1000000 kB\n"
    "MemAvailable:   10485760 kB\n"
    "SwapTotal:       2097152 kB\n"
    "SwapFree:        1048576 kB\n";
constexpr const char* kStatus =
    "Name:\tplimsoll\n"
    "VmSize:\t  512000 kB\n"
    "VmRSS:\t   71680 kB\n"
    "RssAnon:\t   51200 kB\n"
    "RssFile:\t   20480 kB\n"
    "RssShmem:\t       0 kB\n"
    "VmData:\t  204800 kB\n"
    "VmSwap:\t   10240 kB\n";
constexpr std::int64_t kAnonymous = 50 * kMiB;

std::map<std::string, std::int64_t> limits_of(const SystemMemory& system) {
  std::map<std::string, std::int64_t> limits;
  for (const SystemLimit& limit : system.limits) {
    limits[limit.source] = limit.bytes;
  }
  return limits;
}

TEST(SystemMemoryTest, BareMachineWithoutCgroups) {
  const PlantedRoot root;
  root.plant("/proc/meminfo", kMeminfo);
  const auto system = read_system_memory(root.path());
  ASSERT_TRUE(system.ok()) << system.error().message;
  EXPECT_EQ(system->total_bytes, 16 * kGiB);
  EXPECT_EQ(system->available_bytes, 10 * kGiB);
  EXPECT_EQ(system->swap_total_bytes, 2 * kGiB);
  EXPECT_EQ(system->swap_free_bytes, 1 * kGiB);
  EXPECT_EQ(
      limits_of(*system),
      (std::map<std::string, std::int64_t>{{"available memory", 10 * kGiB}}));
}

TEST(SystemMemoryTest, WhatWeHoldCountsAsOurs) {
  const PlantedRoot root;
  root.plant("/proc/meminfo", kMeminfo);
  root.plant("/proc/self/status", kStatus);
  const auto system = read_system_memory(root.path());
  EXPECT_EQ(limits_of(*system)["available memory"], 10 * kGiB + kAnonymous);
}

TEST(SystemMemoryTest, NestedVersion2WithATighterAncestor) {
  const PlantedRoot root;
  root.plant("/proc/meminfo", kMeminfo);
  root.plant("/proc/self/status", kStatus);
  root.plant("/proc/self/mountinfo",
             "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.plant("/proc/self/cgroup", "0::/slice/job\n");
  root.plant("/sys/fs/cgroup/slice/job/memory.max", "8589934592\n");
  root.plant("/sys/fs/cgroup/slice/job/memory.current", "52428800\n");
  root.plant("/sys/fs/cgroup/slice/memory.max", "4294967296\n");
  root.plant("/sys/fs/cgroup/slice/memory.current", "1126170624\n");
  const auto system = read_system_memory(root.path());
  ASSERT_TRUE(system.ok());
  EXPECT_EQ(system->total_bytes, 4 * kGiB);
  auto limits = limits_of(*system);
  EXPECT_EQ(limits["cgroup limit at /slice/job"], 8 * kGiB);
  // 1,126,170,624 = 1 GiB + 50 MiB: a GiB is held by our neighbours.
  EXPECT_EQ(limits["cgroup limit at /slice"], 3 * kGiB);
  const auto budget = resolve_host_budget({}, *system);
  EXPECT_EQ(*budget, (Budget{3 * kGiB, "cgroup limit at /slice"}));
}

TEST(SystemMemoryTest, HybridWithMemoryInVersion1) {
  const PlantedRoot root;
  root.plant("/proc/meminfo", kMeminfo);
  root.plant("/proc/self/mountinfo",
             "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
             "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.plant("/proc/self/cgroup", "4:memory:/api/job\n0::/\n");
  const std::string memory = "/sys/fs/cgroup/memory";
  root.plant(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  root.plant(memory + "/api/memory.limit_in_bytes", "2147483648\n");
  root.plant(memory + "/api/memory.usage_in_bytes", "1073741824\n");
  root.plant(memory + "/api/memory.stat",
             "inactive_file 1\nactive_file 1\n"
             "total_inactive_file 268435456\ntotal_active_file 268435456\n");
  root.plant(memory + "/api/job/memory.limit_in_bytes", "3221225472\n");
  const auto system = read_system_memory(root.path());
  ASSERT_TRUE(system.ok());
  EXPECT_EQ(system->total_bytes, 2 * kGiB);
  EXPECT_EQ(limits_of(*system),
            (std::map<std::string, std::int64_t>{
                {"cgroup limit at /api", 2 * kGiB - 512 * kMiB},
                {"cgroup limit at /api/job", 3 * kGiB},
                {"available memory", 10 * kGiB}}));
}

TEST(SystemMemoryTest, ResourceLimitsLessWhatIsReservedOnly) {
  const PlantedRoot root;
  root.plant("/proc/meminfo", kMeminfo);
  root.plant("/proc/self/status", kStatus);
  root.plant(
      "/proc/self/limits",
      "Limit                     Soft Limit           Hard Limit\n"
      "Max data size             1073741824           unlimited  bytes\n"
      "Max stack size            8388608              unlimited  bytes\n"
      "Max address space         2147483648           4294967296 bytes\n");
  const auto system = read_system_memory(root.path());
  ASSERT_TRUE(system.ok());
  auto limits = limits_of(*system);
  EXPECT_EQ(limits["RLIMIT_AS"], 2 * kGiB - (512000 - 71680 - 10240) * kKiB);
  EXPECT_EQ(limits["RLIMIT_DATA"], 1 * kGiB - (204800 - 51200) * kKiB);

  root.plant(
      "/proc/self/limits",
      "Max data size             unlimited            unlimited  bytes\n"
      "Max address space         unlimited            unlimited  bytes\n");
  EXPECT_EQ(limits_of(*read_system_memory(root.path())).size(), 1u);
}

TEST(SystemMemoryTest, AFullGroupLeavesNothingRatherThanLess) {
  const PlantedRoot root;
  root.plant("/proc/meminfo", kMeminfo);
  root.plant("/proc/self/mountinfo",
             "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.plant("/proc/self/cgroup", "0::/full\n");
  root.plant("/sys/fs/cgroup/full/memory.max", "1000\n");
  root.plant("/sys/fs/cgroup/full/memory.current", "1500\n");
  EXPECT_EQ(
      limits_of(*read_system_memory(root.path()))["cgroup limit at /full"], 0);
}

TEST(SystemMemoryTest, MeminfoIsNeeded) {
  const PlantedRoot root;
  const auto missing = read_system_memory(root.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_NE(missing.error().message.find("/proc/meminfo"), std::string::npos);
  root.plant("/proc/meminfo", "MemTotal: 5 kB\n");
  EXPECT_FALSE(read_system_memory(root.path()).ok());
}

TEST(SystemMemoryTest, ReadsThisMachine) {
  const auto system = read_system_memory();
  ASSERT_TRUE(system.ok()) << system.error().message;
  EXPECT_GT(system->total_bytes, 64 * kMiB);
  EXPECT_GT(system->available_bytes, 0);
  EXPECT_EQ(system->limits.back().source, "available memory");
}

}  // namespace
}  // namespace plimsoll
