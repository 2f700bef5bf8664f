// Control groups this process is in: version 1, version 2, or both at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct CgroupFolder {
  int version = 2;
  std::string name;    // in its hierarchy: "/user.slice/job"
  std::string folder;  // where its files are
};

// The process's own group of `controller` first, then every ancestor that can
// be seen. `root` is prepended to every path.
std::vector<CgroupFolder> find_cgroups(const std::string& root,
                                       std::string_view controller);

struct CgroupMemory {
  std::string name;
  std::int64_t limit_bytes = 0;
  std::int64_t others_bytes = 0;  // held in it by others, cache apart
};

// One entry for each group that has a limit. `own_bytes` is the part of the
// groups' use that is this process's own.
std::vector<CgroupMemory> read_cgroup_memory(const std::string& root,
                                             std::int64_t own_bytes);

}  // namespace plimsoll
