// Memory of a process and all its descendants, sampled from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace plimsoll {

// Sums over the processes. Pages that several of them share are in each one's
// resident memory and so count several times: an upper bound of what the tree
// holds. `pss_bytes` shares them out.
struct TreeSample {
  int processes = 0;
  std::int64_t rss_bytes = 0;
  std::int64_t swap_bytes = 0;
  // Resident plus swap, with the kernel's high-water mark in place of resident
  // for a process whose mark rose since the last sample: a peak between two
  // samples is not missed.
  std::int64_t high_bytes = 0;
  std::int64_t high_rss_bytes = 0;
  std::optional<std::int64_t> pss_bytes;  // where it was read for all

  std::int64_t bytes() const { return rss_bytes + swap_bytes; }
};

class ProcessTree {
 public:
  // With `with_root` false only the descendants count.
  explicit ProcessTree(pid_t root, bool with_root = true);

  // `exact` also walks every process's pages (smaps_rollup), which takes time
  // in proportion to its size; otherwise the kernel's running counts serve.
  TreeSample sample(bool exact);

 private:
  void find_processes(std::vector<pid_t>& found) const;

  pid_t root_;
  bool with_root_;
  std::map<pid_t, std::int64_t> marks_;  // high-water mark last seen
};

}  // namespace plimsoll
