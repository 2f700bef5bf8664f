#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_recurrent(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    // In 16 bits each step rounds what the next one reads.
    const RecurrentSizes sizes = {draw.extent(70), draw.extent(6),
                                  draw.extent(600)};
    if (sizes.batch * sizes.steps * sizes.hidden * sizes.hidden >
        draw.some_or(500'000, 4'000'000)) {
      continue;
    }
    add_recurrent(records, draw.name(made++), sizes, false);
  }
  return records;
}

}  // namespace plimsoll::ops::testing
