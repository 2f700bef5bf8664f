// Streams side by side.
#pragma once

#include <memory>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

// Each element has the fields of one element of every input; the shortest input
// ends the epoch. Number and whereabouts are the first input's.
Result<std::unique_ptr<Stream>> zip_stream(
    std::vector<std::unique_ptr<Stream>> inputs);

}  // namespace plimsoll::data
