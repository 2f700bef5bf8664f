#include "ops/movement/strided_move.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::ops {

std::int64_t StridedMove::runs() const {
  std::int64_t count = 1;
  for (const MoveAxis& axis : axes) count *= axis.extent;
  return count;
}

std::int64_t Moves::bytes() const {
  std::int64_t sum = 0;
  for (const StridedMove& box : boxes) sum += box.bytes();
  return sum;
}

std::int64_t Moves::shortest_run() const {
  std::int64_t shortest = std::int64_t{1} << 40;
  for (const StridedMove& box : boxes) shortest = std::min(shortest, box.run);
  return shortest;
}

void Moves::add(StridedMove box) {
  if (box.bytes() > 0) boxes.push_back(simplified(std::move(box)));
}

StridedMove simplified(StridedMove move) {
  const bool fills = move.input == StridedMove::kFill;
  std::vector<MoveAxis> kept;
  for (const MoveAxis& axis : move.axes) {
    if (axis.extent == 1) continue;
    const bool merges = !kept.empty() &&
                        kept.back().to == axis.to * axis.extent &&
                        (fills || kept.back().from == axis.from * axis.extent);
    if (merges) {
      kept.back() = {kept.back().extent * axis.extent, axis.from, axis.to};
    } else {
      kept.push_back(axis);
    }
  }
  while (!kept.empty() && kept.back().to == move.run &&
         (fills || kept.back().from == move.run)) {
    move.run *= kept.back().extent;
    kept.pop_back();
  }
  if (kept.empty()) kept.push_back({});
  move.axes = std::move(kept);
  return move;
}

std::int64_t unit_bytes(const StridedMove& move) {
  std::int64_t unit = std::gcd(std::int64_t{16}, std::gcd(move.run, move.to));
  const bool fills = move.input == StridedMove::kFill;
  if (!fills) unit = std::gcd(unit, move.from);
  for (const MoveAxis& axis : move.axes) {
    unit = std::gcd(unit, axis.to);
    if (!fills) unit = std::gcd(unit, axis.from);
  }
  return unit;
}

}  // namespace plimsoll::ops
