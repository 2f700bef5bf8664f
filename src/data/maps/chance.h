// Random numbers of a map: the same for the same seed, epoch, element and
// salt, whichever thread asks and in which order.
#pragma once

#include <cstdint>

#include "base/philox.h"
#include "data/map.h"

namespace plimsoll::data {

inline PhiloxBlock chance(const MapContext& context, std::int64_t index,
                          std::uint64_t salt) {
  // Multiplied by an odd constant, so that near salts are far from near seeds.
  return philox(context.seed ^ salt * 0x9e3779b97f4a7c15u,
                static_cast<std::uint64_t>(context.epoch),
                static_cast<std::uint64_t>(index));
}

// From 0 up to, not including, `limit`, which is less than 2^31.
inline std::int64_t below(std::uint32_t bits, std::int64_t limit) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(bits) *
                                       static_cast<std::uint64_t>(limit) >>
                                   32);
}

}  // namespace plimsoll::data
