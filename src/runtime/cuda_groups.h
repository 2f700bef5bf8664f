// Which ops run in one kernel. A launch costs about as much as a small op, so
// neighbours are merged: ops that do not touch each other's memory run beside
// each other on blocks of their own; ops that follow from each other run one
// after the other in a single block, where that takes less than two launches.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cuda_code.h"

namespace plimsoll::runtime {

struct MemoryRange {
  const std::byte* start = nullptr;  // null: touches nothing that is written
  std::int64_t bytes = 0;
};

struct GroupItem {
  const cuda::Function* function = nullptr;  // null: a library's, on its own
  std::vector<MemoryRange> reads;
  std::vector<MemoryRange> writes;
  int pointers = 0;
};

struct Grouped {
  int item = 0;
  int phase = 0;
  int first_block = 0;
  int blocks = 1;
};

struct Group {
  std::vector<Grouped> members;  // in order of execution
  int blocks = 1;
};

// The items stand in a valid order of execution. Those that nothing waits for,
// updates above all, go as late as their memory allows, so that they meet.
std::vector<Group> group_launches(const std::vector<GroupItem>& items);

// Each of its functions on its own, where together they need more registers
// than a thread has.
std::vector<Group> taken_apart(const Group& group,
                               const std::vector<GroupItem>& items);

}  // namespace plimsoll::runtime
