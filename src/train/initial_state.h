// How states start: Keras's initialisers, and scalars set by the host.
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

// Writes a scalar of f32 or f64; does nothing when there is no such state.
void set_scalar(std::span<std::byte> bytes, DType dtype, double value);

}  // namespace plimsoll::train
