// Whether memory is a window into a file.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

// The name of a file that any of these bytes of this process are mapped from;
// empty where they are plain memory.
std::string mapped_file(const void* start, std::int64_t bytes);

}  // namespace plimsoll
