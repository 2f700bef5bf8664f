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
  const auto padded =
      std::find(plan.is_padded.begin(), plan.is_padded.end(), true);
  if (padded != plan.is_padded.end() || plan.digits.size() < 2) {
    return std::nullopt;
  }
  PackTiles tiles;
  std::int64_t packed = 1;
  bool found = false;
  for (std::size_t i = plan.digits.size(); i-- > 0;) {
    const PackDigit& digit = plan.digits[i];
    if (i + 1 == plan.digits.size()) {
      if (digit.stride == 1) return std::nullopt;
      tiles.rows = digit.count;
      tiles.row_stride = digit.stride;
    } else if (digit.stride == 1 && !found) {
      found = true;
      tiles.columns = digit.count;
      tiles.column_stride = packed;
    } else {
      tiles.around.insert(tiles.around.begin(),
                          {digit.count, digit.stride, packed});
      tiles.tiles *= digit.count;
    }
    packed *= digit.count;
  }
  if (!found) return std::nullopt;
  return tiles;
}

}  // namespace plimsoll::ops
