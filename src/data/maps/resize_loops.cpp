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

}  // namespace

const ResizeLoops& loops();
const ResizeLoops& loops() {
  static constexpr ResizeLoops kLoops = {widen, across, down};
  return kLoops;
}

}  // namespace plimsoll::data::PLIMSOLL_ISA
