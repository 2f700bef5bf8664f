#include "runtime/cuda_groups.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::runtime {
namespace {

// Between the end of one kernel of a graph and the start of the next.
constexpr double kLaunchSeconds = 1.2e-6;

bool overlap(const std::vector<MemoryRange>& a,
             const std::vector<MemoryRange>& b) {
  for (const MemoryRange& x : a) {
    if (x.start == nullptr || x.bytes == 0) continue;
    for (const MemoryRange& y : b) {
      if (y.start == nullptr || y.bytes == 0) continue;
      if (x.start < y.start + y.bytes && y.start < x.start + x.bytes) {
        return true;
      }
    }
  }
  return false;
}

bool in_order(const GroupItem& first, const GroupItem& second) {
  return overlap(first.writes, second.reads) ||
         overlap(first.writes, second.writes) ||
         overlap(first.reads, second.writes);
}

// With as many blocks as it wants.
double seconds_alone(const cuda::Function& function) {
  constexpr double kLeast = 0.5e-6;
  return std::max(kLeast, function.one_block_seconds /
                              static_cast<double>(function.blocks));
}

// Numbers of the items, those that nothing waits for moved towards the end.
std::vector<int> late_order(const std::vector<GroupItem>& items) {
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int item) -> const GroupItem& {
    return items[static_cast<std::size_t>(item)];
  };
  for (auto place = order.end(); place != order.begin();) {
    --place;
    const GroupItem& item = at(*place);
    if (item.function == nullptr) continue;
    const auto later = place + 1;
    const bool awaited = std::any_of(later, order.end(), [&](int other) {
      return overlap(item.writes, at(other).reads);
    });
    if (awaited) continue;
    const auto stop = std::find_if(later, order.end(), [&](int other) {
      return in_order(item, at(other));
    });
    std::rotate(place, later, stop);
  }
  return order;
}

class Grouping {
 public:
  explicit Grouping(const std::vector<GroupItem>& items) : items_(items) {}

  std::vector<Group> run() {
    for (const int item : late_order(items_)) {
      if (at(item).function == nullptr) {
        close();
        groups_.push_back({{{item, 0, 0, 1}}, 1});
        continue;
      }
      if (!join(item)) {
        close();
        join(item);
      }
    }
    close();
    return std::move(groups_);
  }

 private:
  const GroupItem& at(int item) const {
    return items_[static_cast<std::size_t>(item)];
  }

  bool join(int item) {
    const GroupItem& next = at(item);
    int phase = 0;
    for (const Grouped& member : open_.members) {
      if (in_order(at(member.item), next)) {
        phase = std::max(phase, member.phase + 1);
      }
    }
    const int phases = std::max(phases_, phase + 1);
    const double serial = serial_ + next.function->one_block_seconds;
    const double alone = std::max(alone_, seconds_alone(*next.function));
    if (!open_.members.empty()) {
      if (pointers_ + next.pointers > cuda::kMostPointers) return false;
      // What this costs now, and what it would cost in two kernels.
      const double merged = phases > 1 ? serial : alone;
      const double apart = (phases_ > 1 ? serial_ : alone_) + kLaunchSeconds +
                           seconds_alone(*next.function);
      if (merged > apart) return false;
    }
    open_.members.push_back({item, phase, 0, 1});
    phases_ = phases;
    serial_ = serial;
    alone_ = alone;
    pointers_ += next.pointers;
    return true;
  }

  void close() {
    if (!open_.members.empty()) {
      int first = 0;
      for (Grouped& member : open_.members) {
        if (phases_ > 1) continue;  // all in the one block
        member.first_block = first;
        member.blocks = static_cast<int>(at(member.item).function->blocks);
        first += member.blocks;
      }
      open_.blocks = std::max(first, 1);
      groups_.push_back(std::move(open_));
    }
    open_ = {};
    phases_ = 1;
    serial_ = alone_ = 0;
    pointers_ = 0;
  }

  const std::vector<GroupItem>& items_;
  std::vector<Group> groups_;
  Group open_;
  int phases_ = 1;
  double serial_ = 0;
  double alone_ = 0;
  int pointers_ = 0;
};

}  // namespace

std::vector<Group> group_launches(const std::vector<GroupItem>& items) {
  return Grouping(items).run();
}

std::vector<Group> taken_apart(const Group& group,
                               const std::vector<GroupItem>& items) {
  std::vector<Grouped> members = group.members;
  std::stable_sort(
      members.begin(), members.end(),
      [](const Grouped& x, const Grouped& y) { return x.phase < y.phase; });
  std::vector<Group> apart;
  for (const Grouped& member : members) {
    const auto* function =
        items[static_cast<std::size_t>(member.item)].function;
    const int blocks = static_cast<int>(function->blocks);
    apart.push_back({{{member.item, 0, 0, blocks}}, blocks});
  }
  return apart;
}

}  // namespace plimsoll::runtime
