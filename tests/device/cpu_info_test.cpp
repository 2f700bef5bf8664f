#include "device/cpu/cpu_info.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "memory/planted_root.h"
#include "memory/proc_text.h"

namespace plimsoll {
namespace {

TEST(CpuInfoTest, AgreesWithTheKernel) {
  const CpuInfo info = read_cpu_info();
  const auto text = read_text_file("/proc/cpuinfo");
  ASSERT_TRUE(text.has_value());
  EXPECT_FALSE(info.brand.empty());
  EXPECT_GE(info.affinity_cores, 1);
  EXPECT_GE(info.usable_cores, 1);
  EXPECT_LE(info.usable_cores, info.affinity_cores);
#if defined(__x86_64__)
  EXPECT_NE(text->find(info.brand), std::string::npos) << info.brand;
  const std::string flags = std::string(*find_field(*text, "flags")) + " ";
  const auto has = [&](const char* flag) {
    return flags.find(std::string(" ") + flag + " ") != std::string::npos;
  };
  EXPECT_EQ(info.instruction_set >= InstructionSet::avx2,
            has("avx2") && has("fma"));
  EXPECT_EQ(
      info.instruction_set >= InstructionSet::avx512,
      has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq"));
  EXPECT_EQ(info.instruction_set == InstructionSet::amx, has("amx_bf16"));
#endif
}

// Runs with every core that the test has, since quotas cut only below it.
class QuotaTest : public testing::Test {
 protected:
  int usable(const std::string& cpu_max, const std::string& parent_max) {
    root_.plant("/proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    root_.plant("/proc/self/cgroup", "0::/a/b\n");
    root_.plant("/sys/fs/cgroup/a/b/cpu.max", cpu_max);
    root_.plant("/sys/fs/cgroup/a/cpu.max", parent_max);
    return read_cpu_info(root_.path()).usable_cores;
  }
  PlantedRoot root_;
  const int all_ = read_cpu_info(root_.path()).affinity_cores;
};

TEST_F(QuotaTest, WholeCoresOfTheTightestGroup) {
  EXPECT_EQ(usable("max 100000\n", "max 100000\n"), all_);
  EXPECT_EQ(usable("100000 100000\n", "max 100000\n"), 1);
  EXPECT_EQ(usable("190000 100000\n", "max 100000\n"), 1);
  EXPECT_EQ(usable("max 100000\n", "50000 100000\n"), 1);
  EXPECT_EQ(usable("200000 100000\n", "max 100000\n"), std::min(all_, 2));
  EXPECT_EQ(usable("99900000 100000\n", "max 100000\n"), std::min(all_, 999));
  EXPECT_EQ(usable("100000 0\n", "garbage\n"), all_);
}

TEST(CpuInfoTest, QuotaOfVersion1) {
  const PlantedRoot root;
  root.plant("/proc/self/mountinfo",
             "34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  root.plant("/proc/self/cgroup", "1:cpu:/\n");
  root.plant("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.plant("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  const CpuInfo free = read_cpu_info(root.path());
  EXPECT_EQ(free.usable_cores, free.affinity_cores);
  root.plant("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "120000\n");
  EXPECT_EQ(read_cpu_info(root.path()).usable_cores, 1);
}

TEST(CpuInfoTest, HonoursAffinity) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(read_cpu_info().usable_cores, 1);
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace plimsoll
