#include "memory/cgroup.h"

#include <gtest/gtest.h>

#include "memory/planted_root.h"

namespace plimsoll {
namespace {

constexpr const char* kV2Mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

std::vector<std::string> names_of(const std::vector<CgroupFolder>& groups) {
  std::vector<std::string> names;
  for (const CgroupFolder& group : groups) names.push_back(group.name);
  return names;
}

TEST(CgroupTest, FindsAllAncestorsOfVersion2) {
  const PlantedRoot root;
  root.plant("/proc/self/mountinfo", kV2Mount);
  root.plant("/proc/self/cgroup", "0::/user.slice/job 1/step\n");
  const auto groups = find_cgroups(root.path(), "memory");
  EXPECT_EQ(names_of(groups), (std::vector<std::string>{
                                  "/user.slice/job 1/step", "/user.slice/job 1",
                                  "/user.slice", "/"}));
  EXPECT_EQ(groups.at(0).folder,
            root.path() + "/sys/fs/cgroup/user.slice/job 1/step");
  EXPECT_EQ(groups.at(3).folder, root.path() + "/sys/fs/cgroup");
}

TEST(CgroupTest, FindsTheControllersOwnHierarchyOfVersion1) {
  const PlantedRoot root;
  root.plant("/proc/self/mountinfo",
             "33 31 0:30 / /sys/fs/cgroup/cpu\\040sets rw - cgroup cgroup "
             "rw,cpuset\n"
             "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
             "rw,cpu,cpuacct\n"
             "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup "
             "rw,memory\n");
  root.plant("/proc/self/cgroup",
             "9:name=systemd:/\n5:cpu,cpuacct:/a:b\n4:memory:/m\n"
             "3:cpuset:/c\n");
  EXPECT_EQ(names_of(find_cgroups(root.path(), "memory")),
            (std::vector<std::string>{"/m", "/"}));
  EXPECT_EQ(find_cgroups(root.path(), "cpu")[0].folder,
            root.path() + "/sys/fs/cgroup/cpu,cpuacct/a:b");
  EXPECT_EQ(find_cgroups(root.path(), "cpuset")[0].folder,
            root.path() + "/sys/fs/cgroup/cpu sets/c");
  EXPECT_TRUE(find_cgroups(root.path(), "pids").empty());
}

TEST(CgroupTest, ContainersThatSeeOnlyTheirPartOfTheTree) {
  const PlantedRoot root;
  root.plant("/proc/self/mountinfo",
             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup "
             "rw,memory\n");
  const std::string folder = root.path() + "/sys/fs/cgroup/memory";
  for (const auto& [path, expected] :
       {std::pair("/docker/abc", folder),
        std::pair("/docker/abc/x", folder + "/x"),
        std::pair("/docker/abcd", folder), std::pair("/", folder),
        std::pair("/../other", folder)}) {
    root.plant("/proc/self/cgroup", std::string("4:memory:") + path + "\n");
    const auto groups = find_cgroups(root.path(), "memory");
    ASSERT_FALSE(groups.empty()) << path;
    EXPECT_EQ(groups[0].folder, expected) << path;
    EXPECT_EQ(groups.back().name, "/docker/abc");
  }
}

TEST(CgroupTest, OthersAreWhatIsNeitherCacheNorOurs) {
  const PlantedRoot root;
  root.plant("/proc/self/mountinfo", kV2Mount);
  root.plant("/proc/self/cgroup", "0::/a\n");
  root.plant("/sys/fs/cgroup/a/memory.max", "1000\n");
  root.plant("/sys/fs/cgroup/a/memory.current", "700\n");
  root.plant("/sys/fs/cgroup/a/memory.stat",
             "anon 500\nfile 180\ninactive_file 100\nactive_file 50\n");
  auto limits = read_cgroup_memory(root.path(), 200);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].name, "/a");
  EXPECT_EQ(limits[0].limit_bytes, 1000);
  EXPECT_EQ(limits[0].others_bytes, 700 - 150 - 200);
  // Our own part is counted with a lag: others never hold less than nothing.
  limits = read_cgroup_memory(root.path(), 600);
  EXPECT_EQ(limits[0].others_bytes, 0);
}

TEST(CgroupTest, HighBindsBeforeMax) {
  const PlantedRoot root;
  root.plant("/proc/self/mountinfo", kV2Mount);
  root.plant("/proc/self/cgroup", "0::/a/b\n");
  root.plant("/sys/fs/cgroup/a/b/memory.max", "max\n");
  root.plant("/sys/fs/cgroup/a/b/memory.high", "800\n");
  root.plant("/sys/fs/cgroup/a/memory.max", "900\n");
  root.plant("/sys/fs/cgroup/a/memory.high", "max\n");
  auto limits = read_cgroup_memory(root.path(), 0);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].limit_bytes, 800);
  EXPECT_EQ(limits[1].limit_bytes, 900);
  root.plant("/sys/fs/cgroup/a/memory.high", "850\n");
  limits = read_cgroup_memory(root.path(), 0);
  EXPECT_EQ(limits.at(1).limit_bytes, 850);
  root.plant("/sys/fs/cgroup/a/memory.high", "950\n");
  limits = read_cgroup_memory(root.path(), 0);
  EXPECT_EQ(limits.at(1).limit_bytes, 900);
}

TEST(CgroupTest, MissingOrBrokenFilesAreNoLimit) {
  const PlantedRoot root;
  EXPECT_TRUE(find_cgroups(root.path(), "memory").empty());
  root.plant("/proc/self/mountinfo", "garbage\n\n1 2 3 - cgroup2\n");
  root.plant("/proc/self/cgroup", "garbage\n0\n:\n");
  EXPECT_TRUE(find_cgroups(root.path(), "memory").empty());
  root.plant("/proc/self/mountinfo", kV2Mount);
  root.plant("/proc/self/cgroup", "0::/gone\n");
  EXPECT_TRUE(read_cgroup_memory(root.path(), 0).empty());
}

}  // namespace
}  // namespace plimsoll
