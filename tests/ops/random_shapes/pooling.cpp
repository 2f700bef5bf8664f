#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_poolings(std::uint64_t seed, int count) {
  constexpr std::int64_t kMostSteps = 1'000'000;
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    const std::int64_t height = draw.extent(40);
    const std::int64_t width = draw.extent(40);
    const Shape images{draw.between(draw.one_in(50) ? 0 : 1, 4), height, width,
                       draw.extent(130)};
    Pool2dSettings settings;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t whole = i == 0 ? height : width;
      settings.window[i] = draw.one_of<std::int64_t>(
          {1, 2, 2, 3, 3, 3, 5, 7, draw.between(1, 20), whole});
      settings.strides[i] =
          draw.one_of<std::int64_t>({1, 1, 2, 2, 3, draw.between(1, 20)});
    }
    const std::int64_t padding = draw.between(0, 2);
    if (padding == 1) settings = same_pool_padding(settings, height, width);
    if (padding == 2) {
      for (std::size_t i = 0; i < 4; ++i) {
        settings.padding[i] = draw.between(0, settings.window[i / 2] - 1);
      }
    }
    std::int64_t steps = images[0].size * images[3].size;
    bool fits = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t room = (i == 0 ? height : width) +
                                settings.padding[2 * i] +
                                settings.padding[2 * i + 1];
      fits = fits && room >= settings.window[i];
      steps *= ((room - settings.window[i]) / settings.strides[i] + 1) *
               settings.window[i];
    }
    if (!fits || steps > kMostSteps) continue;
    const std::size_t first = records.size();
    add_poolings(records, draw.name(made++), images, settings, false);
    if (!draw.one_in(4)) continue;
    for (std::size_t i = first; i < records.size(); ++i) {
      if (records[i].op->name == "max_pool2d") {
        records[i].ranges = {draw.some_missing()};
      }
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
