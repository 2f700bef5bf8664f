#include "ops/movement/pack_tiles.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

// Whether two neighbours of the innermost digit may become one word.
bool pairs_up(const PackPlan& plan) {
  if (plan.digits.empty()) return false;
  const PackDigit& last = plan.digits.back();
  const auto axis = static_cast<std::size_t>(last.axis);
  if (last.stride != 1 || last.count % 2 != 0) return false;
  if (plan.extents[axis] % 2 != 0) return false;
  return std::all_of(plan.digits.begin(), plan.digits.end() - 1,
                     [&](const PackDigit& digit) {
                       return digit.stride % 2 == 0 &&
                              (digit.axis != last.axis || digit.step % 2 == 0);
                     });
}

// Of `count` runs, how many make a tile: a part of them, so that threads have
// tiles to share.
std::int64_t few_of(std::int64_t count) {
  constexpr std::int64_t kLeast = 8;
  constexpr std::int64_t kMost = 64;
  for (std::int64_t few = std::min(count, kMost); few >= kLeast; --few) {
    if (count % few == 0) return few;
  }
  return count;
}

}  // namespace

WordPlan in_words(PackPlan plan, std::int64_t element_bytes) {
  WordPlan words{std::move(plan), element_bytes};
  while (words.bytes < 8 && pairs_up(words.plan)) {
    std::vector<PackDigit>& digits = words.plan.digits;
    const int axis = digits.back().axis;
    digits.back().count /= 2;
    for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
      digits[i].stride /= 2;
      if (digits[i].axis == axis) digits[i].step /= 2;
    }
    words.plan.extents[static_cast<std::size_t>(axis)] /= 2;
    words.plan.elements /= 2;
    if (digits.back().count == 1) digits.pop_back();
    words.bytes *= 2;
  }
  return words;
}

std::optional<PackTiles> pack_tiles(const PackPlan& plan) {
  if (plan.digits.size() < 2) return std::nullopt;
  const PackDigit& last = plan.digits.back();
  const bool in_runs = last.stride == 1;
  const PackDigit* columns = in_runs ? &last : nullptr;
  const PackDigit* rows = in_runs ? nullptr : &last;
  PackTiles tiles;
  const auto around = [&](std::int64_t count, const PackDigit& digit,
                          std::int64_t skip, std::int64_t packed) {
    tiles.around.insert(
        tiles.around.begin(),
        {count, digit.stride * skip, packed * skip,
         static_cast<std::size_t>(digit.axis), digit.step * skip});
    tiles.tiles *= count;
  };
  std::int64_t packed = last.count;
  for (std::size_t i = plan.digits.size() - 1; i-- > 0;) {
    const PackDigit& digit = plan.digits[i];
    if (rows == nullptr) {
      rows = &digit;
      tiles.packed_row = packed;
      tiles.rows = few_of(digit.count);
      around(digit.count / tiles.rows, digit, tiles.rows, packed);
    } else if (digit.stride == 1 && columns == nullptr) {
      columns = &digit;
      tiles.packed_column = packed;
    } else {
      around(digit.count, digit, 1, packed);
    }
    packed *= digit.count;
  }
  if (columns == nullptr) return std::nullopt;
  if (!in_runs) tiles.rows = rows->count;
  tiles.row_stride = rows->stride;
  tiles.columns = columns->count;
  for (std::size_t axis = 0; axis < plan.extents.size(); ++axis) {
    if (!plan.is_padded[axis]) continue;
    const auto step_of = [&](const PackDigit& digit) {
      return digit.axis == static_cast<int>(axis) ? digit.step : 0;
    };
    tiles.padded.push_back(
        {axis, plan.extents[axis], step_of(*rows), step_of(*columns)});
    if (rows->axis == columns->axis) return std::nullopt;
  }
  return tiles;
}

PackTile tile_at(const PackTiles& all, std::int64_t index) {
  PackTile tile{0, 0, all.rows, all.columns};
  std::int64_t number = index;
  for (std::size_t i = all.around.size(); i-- > 0;) {
    const std::int64_t digit = number % all.around[i].count;
    number /= all.around[i].count;
    tile.place += digit * all.around[i].stride;
    tile.packed += digit * all.around[i].packed;
  }
  for (const PackTiles::Padded& padded : all.padded) {
    std::int64_t left = padded.extent;
    number = index;
    for (std::size_t i = all.around.size(); i-- > 0;) {
      const PackTiles::Around& around = all.around[i];
      if (around.axis == padded.axis) {
        left -= number % around.count * around.step;
      }
      number /= around.count;
    }
    // As many steps as stay inside the axis.
    const auto inside = [&](std::int64_t count, std::int64_t step) {
      if (left <= 0) return std::int64_t{0};
      return step == 0 ? count : std::min(count, (left + step - 1) / step);
    };
    tile.rows = inside(tile.rows, padded.row_step);
    tile.columns = inside(tile.columns, padded.column_step);
  }
  return tile;
}

}  // namespace plimsoll::ops
