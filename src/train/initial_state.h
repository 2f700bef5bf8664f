// How states start: Keras's initialisers, and values set by the host.
#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.h"
#include "train/network.h"

namespace plimsoll::train {

// Fills a parameter from (seed, its position), or a piece of it that begins at
// element `first`: the same at every budget.
void initialize(const Parameter& parameter, DType dtype, std::int64_t seed,
                int position, std::int64_t first, std::span<std::byte> bytes);

// Writes `value` into every element, of f32 or f64.
void fill_with(std::span<std::byte> bytes, DType dtype, double value);

}  // namespace plimsoll::train
