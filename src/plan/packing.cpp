#include "plan/packing.h"

#include <algorithm>
#include <string>

#include "plan/packer.h"

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// The items that need a place, with their times as dense steps.
struct DenseProblem {
  DenseProblem(std::span<const PackItem> items,
               std::pmr::memory_resource* memory);

  std::pmr::vector<std::int32_t> sources;  // index in the given items
  std::pmr::vector<DenseItem> items;
  std::int64_t lower_bound_bytes = 0;
};

DenseProblem::DenseProblem(std::span<const PackItem> given,
                           std::pmr::memory_resource* memory)
    : sources(memory), items(memory) {
  const auto needs_place = [](const PackItem& item) {
    return item.size_bytes > 0 && item.lower < item.upper;
  };
  std::pmr::vector<std::int64_t> times(memory);
  for (const PackItem& item : given) {
    if (!needs_place(item)) continue;
    times.push_back(item.lower);
    times.push_back(item.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto step = [&](std::int64_t time) {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  };
  std::pmr::vector<std::int64_t> change(times.size(), 0, memory);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!needs_place(given[i])) continue;
    const auto lower = step(given[i].lower);
    const auto upper = step(given[i].upper);
    sources.push_back(static_cast<std::int32_t>(i));
    items.push_back({static_cast<std::int32_t>(lower),
                     static_cast<std::int32_t>(upper), given[i].size_bytes});
    change[static_cast<std::size_t>(lower)] += given[i].size_bytes;
    change[static_cast<std::size_t>(upper)] -= given[i].size_bytes;
  }
  std::int64_t alive = 0;
  for (const std::int64_t bytes : change) {
    alive += bytes;
    lower_bound_bytes = std::max(lower_bound_bytes, alive);
  }
}

}  // namespace

Status check_items(std::span<const PackItem> items) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const PackItem& item = items[i];
    const auto bad = [&](const char* what) {
      return Error{ErrorCode::bad_input,
                   "item " + std::to_string(i) + ": " + what};
    };
    if (item.lower >= item.upper) return bad("its life is empty");
    if (item.size_bytes < 0) return bad("its size is negative");
    if (item.size_bytes > kMostBytes - sum) {
      return bad("the sizes add up to more than 2^62 bytes");
    }
    sum += item.size_bytes;
  }
  return {};
}

Packing pack(std::span<const PackItem> items, const PackOptions& options) {
  std::pmr::memory_resource* memory =
      options.memory ? options.memory : std::pmr::get_default_resource();
  const DenseProblem problem(items, memory);
  Packer packer(problem.items, problem.lower_bound_bytes, memory);
  // Cheap steps first; most training graphs are done after the first.
  packer.place_greedily(options.work);
  packer.search_bound(options.work / 4);
  packer.promote(options.work / 4);
  packer.search_between(options.work / 2);

  Packing packing;
  packing.offsets.assign(items.size(), 0);
  for (std::size_t i = 0; i < problem.sources.size(); ++i) {
    packing.offsets[static_cast<std::size_t>(problem.sources[i])] =
        packer.offsets()[i];
  }
  packing.height_bytes = packer.height_bytes();
  packing.lower_bound_bytes = problem.lower_bound_bytes;
  return packing;
}

}  // namespace plimsoll::plan
