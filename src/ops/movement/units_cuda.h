// Moves of up to 16 bytes at once, whatever elements they hold.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::ops {

// So many bytes, 1, 2, 4, 8 or 16, as one type of the prelude.
std::string unit_type(std::int64_t bytes);
// A unit that holds an element's bits, over and over.
std::string unit_of(std::uint64_t bits, std::int64_t element_bytes,
                    std::int64_t unit_bytes);

}  // namespace plimsoll::ops
