#include "data/maps/resize_tables.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::data {

float scale_of(std::int64_t in, std::int64_t out) noexcept {
  return static_cast<float>(in) / static_cast<float>(out);
}

void fill_between(std::int64_t in, std::int64_t step,
                  const BetweenTable& table) noexcept {
  fill_between(in, scale_of(in, table.count), step, table);
}

void fill_between(std::int64_t in, float scale, std::int64_t step,
                  const BetweenTable& table) noexcept {
  for (std::int64_t i = 0; i < table.count; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const float below = std::floor(at);
    const auto upper =
        std::min(static_cast<std::int64_t>(std::ceil(at)), in - 1);
    const auto lower =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(below), 0, upper);
    table.lower[i] = static_cast<std::int32_t>(lower * step);
    table.upper[i] = static_cast<std::int32_t>(upper * step);
    table.part[i] = upper == lower ? 0 : at - below;
  }
}

void fill_nearest(std::int64_t in, std::int64_t out,
                  std::int32_t* from) noexcept {
  const float scale = scale_of(in, out);
  for (std::int64_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale;
    from[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::floor(at)), 0, in - 1));
  }
}

}  // namespace plimsoll::data
