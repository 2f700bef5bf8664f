// Streams one after another.
#pragma once

#include <memory>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

Result<std::unique_ptr<Stream>> concatenate_stream(
    std::vector<std::unique_ptr<Stream>> inputs);

}  // namespace plimsoll::data
