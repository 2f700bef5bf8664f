// Compiled once for each instruction-set level: see resize_loops.h. Calls
// nothing inline from elsewhere.
#include "data/maps/resize_loops.h"

namespace plimsoll::data::PLIMSOLL_ISA {
namespace {

// Four floats, and two, at any address of floats.
typedef float Four __attribute__((vector_size(16), aligned(4)));
typedef float Two __attribute__((vector_size(8), aligned(4)));

void widen(const std::uint8_t* in, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

// Both neighbours lie beside one another, so one load brings them; where
// there is but one, `part` is 0.
void across_one(const float* row, const BetweenTable& table,
                float* __restrict out) {
  const std::int32_t* lower = table.lower;
  std::int64_t x = 0;
  for (; x + 4 <= table.count; x += 4) {
    const auto pair = [&](std::int64_t i) {
      return *reinterpret_cast<const Two*>(row + lower[x + i]);
    };
    const Four first = __builtin_shufflevector(pair(0), pair(1), 0, 1, 2, 3);
    const Four second = __builtin_shufflevector(pair(2), pair(3), 0, 1, 2, 3);
    const Four left = __builtin_shufflevector(first, second, 0, 2, 4, 6);
    const Four right = __builtin_shufflevector(first, second, 1, 3, 5, 7);
    const Four part = *reinterpret_cast<const Four*>(table.part + x);
    *reinterpret_cast<Four*>(out + x) = left + (right - left) * part;
  }
  for (; x < table.count; ++x) {
    const float left = row[lower[x]];
    out[x] = left + (row[lower[x] + 1] - left) * table.part[x];
  }
}

// One load brings both neighbours of both channels.
void across_two(const float* row, const BetweenTable& table,
                float* __restrict out) {
  std::int64_t x = 0;
  for (; x + 2 <= table.count; x += 2) {
    const Four one = *reinterpret_cast<const Four*>(row + table.lower[x]);
    const Four next = *reinterpret_cast<const Four*>(row + table.lower[x + 1]);
    const Two parts = *reinterpret_cast<const Two*>(table.part + x);
    const Four left = __builtin_shufflevector(one, next, 0, 1, 4, 5);
    const Four right = __builtin_shufflevector(one, next, 2, 3, 6, 7);
    const Four part = __builtin_shufflevector(parts, parts, 0, 0, 1, 1);
    *reinterpret_cast<Four*>(out + 2 * x) = left + (right - left) * part;
  }
  for (; x < table.count; ++x) {
    const float* at = row + table.lower[x];
    out[2 * x] = at[0] + (at[2] - at[0]) * table.part[x];
    out[2 * x + 1] = at[1] + (at[3] - at[1]) * table.part[x];
  }
}

// Three channels are done as four: the next pixel overwrites the fourth.
template <std::int64_t kChannels>
void across_four(const float* row, const BetweenTable& table, float* out) {
  for (std::int64_t x = 0; x < table.count; ++x) {
    const Four left = *reinterpret_cast<const Four*>(row + table.lower[x]);
    const Four right = *reinterpret_cast<const Four*>(row + table.upper[x]);
    *reinterpret_cast<Four*>(out + x * kChannels) =
        left + (right - left) * table.part[x];
  }
}

void across(const float* row, const BetweenTable& table, std::int64_t channels,
            float* out) {
  if (channels == 1) return across_one(row, table, out);
  if (channels == 2) return across_two(row, table, out);
  if (channels == 3) return across_four<3>(row, table, out);
  if (channels == 4) return across_four<4>(row, table, out);
  for (std::int64_t x = 0; x < table.count; ++x, out += channels) {
    const float* lower = row + table.lower[x];
    const float* upper = row + table.upper[x];
    const float part = table.part[x];
    for (std::int64_t c = 0; c < channels; ++c) {
      out[c] = lower[c] + (upper[c] - lower[c]) * part;
    }
  }
}

void down(const float* top, const float* bottom, float part, std::int64_t count,
          float* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = top[i] + (bottom[i] - top[i]) * part;
  }
}

inline float between(int above, int below, float part) {
  return static_cast<float>(above) + static_cast<float>(below - above) * part;
}

void blend(const std::uint8_t* top, const std::uint8_t* bottom, float part,
           std::int64_t count, float* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = between(top[i], bottom[i], part);
  }
}

void blend_pairs(const std::uint8_t* top, const std::uint8_t* bottom,
                 const std::uint8_t* other_top,
                 const std::uint8_t* other_bottom, float part,
                 std::int64_t count, float* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[2 * i] = between(top[i], bottom[i], part);
    out[2 * i + 1] = between(other_top[i], other_bottom[i], part);
  }
}

template <std::int64_t kChannels>
void interleave_as(const float* red, const float* green_blue,
                   std::int64_t count, float* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i * kChannels] = red[i];
    out[i * kChannels + 1] = green_blue[2 * i];
    out[i * kChannels + 2] = green_blue[2 * i + 1];
    if (kChannels == 4) out[i * kChannels + 3] = 255;
  }
}

void interleave(const float* red, const float* green_blue, std::int64_t count,
                std::int64_t channels, float* out) {
  if (channels == 4) return interleave_as<4>(red, green_blue, count, out);
  interleave_as<3>(red, green_blue, count, out);
}

inline float within(float value) {
  const float above = value > 0.0f ? value : 0.0f;
  return above < 255.0f ? above : 255.0f;
}

// As JFIF has it.
template <std::int64_t kChannels>
void from_ycbcr_as(const float* light, const float* blue_red,
                   std::int64_t count, float* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float cb = blue_red[2 * i] - 128.0f;
    const float cr = blue_red[2 * i + 1] - 128.0f;
    out[i * kChannels] = within(light[i] + 1.402f * cr);
    out[i * kChannels + 1] =
        within(light[i] - 0.344136286f * cb - 0.714136286f * cr);
    out[i * kChannels + 2] = within(light[i] + 1.772f * cb);
    if (kChannels == 4) out[i * kChannels + 3] = 255;
  }
}

void from_ycbcr(const float* light, const float* blue_red, std::int64_t count,
                std::int64_t channels, float* out) {
  if (channels == 4) return from_ycbcr_as<4>(light, blue_red, count, out);
  from_ycbcr_as<3>(light, blue_red, count, out);
}

}  // namespace

const ResizeLoops& loops();
const ResizeLoops& loops() {
  static constexpr ResizeLoops kLoops = {
      widen, across, down, blend, blend_pairs, interleave, from_ycbcr};
  return kLoops;
}

}  // namespace plimsoll::data::PLIMSOLL_ISA
