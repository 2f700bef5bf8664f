#include <cmath>

#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> random_attention(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    AttentionSizes sizes;
    sizes.batch = draw.between(draw.one_in(50) ? 0 : 1, 3);
    sizes.queries = draw.extent(200);
    sizes.keys = draw.one_in(3) ? sizes.queries : draw.extent(200);
    sizes.key_heads = draw.between(1, 3);
    sizes.heads = sizes.key_heads * draw.between(1, 3);
    sizes.width = draw.extent(130);
    if (sizes.batch * sizes.heads * sizes.queries * sizes.keys * sizes.width >
        draw.some_or(1'500'000, 6'000'000)) {
      continue;
    }
    graph::Attrs attrs;
    if (draw.one_in(2)) attrs.set("causal", true);
    // Backward has weights by a random logarithm of their sum: larger scores
    // than usual would make them no weights at all.
    if (draw.one_in(3)) {
      attrs.set("scale", 0.5 / std::sqrt(static_cast<double>(sizes.width)));
    }
    Shape mask;
    if (draw.one_in(2)) {
      const auto or_one = [&](std::int64_t extent) {
        return draw.one_in(2) ? Dim(1) : Dim(extent);
      };
      mask = {or_one(sizes.batch), or_one(sizes.heads), or_one(sizes.queries),
              Dim(sizes.keys)};
    }
    add_attention(records, draw.name(made++), sizes, attrs, mask);
    records[records.size() - 2].gradient_of.clear();
    // Hundreds of such weights on a few keys cancel beyond f32.
    if (sizes.keys < 32) {
      records.back().ranges[1] = records.back().ranges[2] = {-1, 1};
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
