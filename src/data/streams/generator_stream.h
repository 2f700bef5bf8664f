// Elements from a function of the user's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "data/stream.h"

namespace plimsoll::data {

// Makes element `index` of the epoch, which counts up from 0: writes field i to
// `buffers[i]` (of the spec's most_bytes) and sets bytes and shape of
// `out.values[i]` where they vary; false ends the epoch.
using Generator = std::function<Result<bool>(
    std::int64_t index, Element& out, std::span<std::byte* const> buffers)>;

// To get to a saved position the function is called again from the epoch's
// start.
Result<std::unique_ptr<Stream>> generator_stream(std::string name,
                                                 ElementSpec spec,
                                                 Generator generator);

}  // namespace plimsoll::data
