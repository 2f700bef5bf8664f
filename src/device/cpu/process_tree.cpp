#include "device/cpu/process_tree.h"

#include <dirent.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "device/cpu/process_memory.h"
#include "memory/proc_text.h"

namespace plimsoll {
namespace {

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  const Folder folder(opendir(path.c_str()), closedir);
  if (!folder) return numbers;
  while (const dirent* entry = readdir(folder.get())) {
    if (const auto number = leading_number(entry->d_name)) {
      numbers.push_back(static_cast<pid_t>(*number));
    }
  }
  return numbers;
}

// The kernel's own list of children, one a thread; false where it has none.
bool add_listed_children(pid_t parent, std::vector<pid_t>& children) {
  const std::string tasks = fmt::format("/proc/{}/task", parent);
  bool listed = false;
  for (const pid_t task : numbers_in(tasks)) {
    const auto text =
        read_text_file(fmt::format("{}/{}/children", tasks, task));
    if (!text) continue;
    listed = true;
    for (const std::string_view field : split_fields(*text, ' ')) {
      if (const auto child = leading_number(field)) {
        children.push_back(static_cast<pid_t>(*child));
      }
    }
  }
  return listed;
}

// Kernels without that list: ask every process for its parent.
std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> families;
  for (const pid_t pid : numbers_in("/proc")) {
    const auto status = read_text_file(fmt::format("/proc/{}/status", pid));
    if (!status) continue;
    const auto field = find_field(*status, "PPid:");
    if (const auto parent = field ? leading_number(*field) : std::nullopt) {
      families.emplace(static_cast<pid_t>(*parent), pid);
    }
  }
  return families;
}

}  // namespace

ProcessTree::ProcessTree(pid_t root, bool with_root)
    : root_(root), with_root_(with_root) {}

void ProcessTree::find_processes(std::vector<pid_t>& found) const {
  found = {root_};
  std::optional<std::multimap<pid_t, pid_t>> families;
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<pid_t> children;
    if (!families && !add_listed_children(found[i], children) && i == 0) {
      families = children_by_parent();
    }
    if (families) {
      const auto [first, last] = families->equal_range(found[i]);
      for (auto it = first; it != last; ++it) children.push_back(it->second);
    }
    // A process that changes parents while we look can be listed twice.
    for (const pid_t child : children) {
      if (std::find(found.begin(), found.end(), child) == found.end()) {
        found.push_back(child);
      }
    }
  }
  if (!with_root_) found.erase(found.begin());
}

TreeSample ProcessTree::sample(bool exact) {
  TreeSample sum;
  std::int64_t pss = 0;
  bool all_exact = exact;
  std::vector<pid_t> processes;
  find_processes(processes);
  std::map<pid_t, std::int64_t> marks;
  for (const pid_t pid : processes) {
    const auto status = read_process_status(pid);
    if (!status) continue;  // gone, or a zombie that holds nothing
    std::int64_t rss = status->rss_bytes;
    std::int64_t swap = status->swap_bytes;
    const auto pages = exact ? read_process_memory(pid) : Error{};
    if (pages) {
      rss = pages->rss_bytes;
      swap = pages->swap_bytes;
      pss += pages->pss_bytes;
    } else {
      all_exact = false;
    }
    const std::int64_t mark = status->peak_rss_bytes;
    const auto seen = marks_.find(pid);
    // A lower mark than before: another program runs under the same number.
    const bool rose = seen == marks_.end() || seen->second != mark;
    const std::int64_t high = rose ? std::max(rss, mark) : rss;
    marks[pid] = mark;
    ++sum.processes;
    sum.rss_bytes += rss;
    sum.swap_bytes += swap;
    sum.high_rss_bytes += high;
    sum.high_bytes += high + swap;
  }
  if (all_exact && sum.processes > 0) sum.pss_bytes = pss;
  marks_ = std::move(marks);
  return sum;
}

}  // namespace plimsoll
