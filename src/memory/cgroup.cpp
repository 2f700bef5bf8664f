#include "memory/cgroup.h"

#include <algorithm>
#include <optional>

#include "memory/proc_text.h"

namespace plimsoll {
namespace {

// Version 1 writes "no limit" as the largest number of whole pages.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

struct Mount {
  std::string root;   // the group that is mounted
  std::string point;  // where
};

// The kernel writes spaces and backslashes of paths as octal: "\040".
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 +
                                 (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool lists(std::string_view comma_list, std::string_view name) {
  const auto names = split_fields(comma_list, ',');
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<Mount> find_mount(std::string_view mountinfo, int version,
                                std::string_view controller) {
  for (const std::string_view line : split_fields(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split_fields(line.substr(0, dash), ' ');
    const auto after = split_fields(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const bool wanted =
        version == 2 ? after[0] == "cgroup2"
                     : after[0] == "cgroup" && lists(after[2], controller);
    if (wanted) return Mount{unescape(before[3]), unescape(before[4])};
  }
  return std::nullopt;
}

// The group's path in /proc/self/cgroup, whose lines read "4:memory:/path".
std::optional<std::string> find_path(std::string_view cgroup, int version,
                                     std::string_view controller) {
  for (const std::string_view line : split_fields(cgroup, '\n')) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const bool wanted = version == 2 ? line.starts_with("0:") && names.empty()
                                     : lists(names, controller);
    if (wanted) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// The part of `path` below the mounted group; "" when it lies outside, as it
// does in a container that sees only its own part of the tree.
std::string below_mount(const std::string& path, const std::string& root) {
  if (path.find("/..") != std::string::npos) return "";
  if (root == "/") return path == "/" ? "" : path;
  if (!path.starts_with(root)) return "";
  const std::string rest = path.substr(root.size());
  return rest.empty() || rest[0] == '/' ? rest : "";
}

void add_groups(const std::string& root, int version,
                std::string_view controller, std::string_view mountinfo,
                std::string_view cgroup, std::vector<CgroupFolder>& found) {
  const auto mount = find_mount(mountinfo, version, controller);
  const auto path = find_path(cgroup, version, controller);
  if (!mount || !path) return;
  std::string below = below_mount(*path, mount->root);
  const std::string top = mount->root == "/" ? "" : mount->root;
  while (true) {
    const std::string name = top + below;
    found.push_back(
        {version, name.empty() ? "/" : name, root + mount->point + below});
    if (below.empty()) return;
    below.resize(below.rfind('/'));
  }
}

// Pages of files can be dropped when the group runs short; the rest is held.
std::int64_t reclaimable_bytes(const CgroupFolder& group) {
  const auto stat = read_text_file(group.folder + "/memory.stat");
  if (!stat) return 0;
  const std::string prefix = group.version == 1 ? "total_" : "";
  std::int64_t bytes = 0;
  for (const char* key : {"active_file ", "inactive_file "}) {
    const auto field = find_field(*stat, prefix + key);
    bytes += field ? leading_number(*field).value_or(0) : 0;
  }
  return bytes;
}

std::optional<std::int64_t> limit_of(const CgroupFolder& group) {
  if (group.version == 1) {
    return read_number_file(group.folder + "/memory.limit_in_bytes");
  }
  // Past `high` the kernel holds the process back until it shrinks: as good
  // as a limit for someone who wants to train.
  const auto most = read_number_file(group.folder + "/memory.max");
  const auto high = read_number_file(group.folder + "/memory.high");
  if (!most || !high) return most ? most : high;
  return std::min(*most, *high);
}

}  // namespace

std::vector<CgroupFolder> find_cgroups(const std::string& root,
                                       std::string_view controller) {
  std::vector<CgroupFolder> found;
  const auto mountinfo = read_text_file(root + "/proc/self/mountinfo");
  const auto cgroup = read_text_file(root + "/proc/self/cgroup");
  if (!mountinfo || !cgroup) return found;
  for (const int version : {2, 1}) {
    add_groups(root, version, controller, *mountinfo, *cgroup, found);
  }
  return found;
}

std::vector<CgroupMemory> read_cgroup_memory(const std::string& root,
                                             std::int64_t own_bytes) {
  std::vector<CgroupMemory> limits;
  for (const CgroupFolder& group : find_cgroups(root, "memory")) {
    const std::optional<std::int64_t> limit = limit_of(group);
    if (!limit || *limit < 0 || *limit >= kNoLimit) continue;
    const char* use =
        group.version == 1 ? "/memory.usage_in_bytes" : "/memory.current";
    const std::int64_t used =
        read_number_file(group.folder + use).value_or(own_bytes);
    const std::int64_t others = used - reclaimable_bytes(group) - own_bytes;
    limits.push_back({group.name, *limit, std::max<std::int64_t>(others, 0)});
  }
  return limits;
}

}  // namespace plimsoll
