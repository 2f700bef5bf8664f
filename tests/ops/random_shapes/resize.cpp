#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_resizes(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    const Shape images{draw.between(draw.one_in(50) ? 0 : 1, 3),
                       draw.extent(60), draw.extent(60), draw.extent(70)};
    const auto other = [&](std::int64_t extent) {
      return draw.one_in(4) ? draw.one_of<std::int64_t>(
                                  {extent, 2 * extent, (extent + 1) / 2, 1})
                            : draw.extent(90);
    };
    const std::int64_t height = other(images.extent(1));
    const std::int64_t width = other(images.extent(2));
    const std::int64_t most = draw.some_or(40'000, 200'000);
    if (images.elements() > most ||
        images.extent(0) * height * width * images.extent(3) > most) {
      continue;
    }
    add_resizes(records, draw.name(made++), images, height, width, false);
    // Long sums of both signs cancel.
    for (std::size_t i = records.size() - 4; i < records.size(); ++i) {
      if (records[i].op->name == "resize_grad") records[i].ranges = {{0, 1}};
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
