// Streams one after another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

Result<std::unique_ptr<Stream>> concatenate_stream(
    std::vector<std::unique_ptr<Stream>> inputs);

// The spec that elements of all inputs fit: the same types and ranks; an extent
// that differs varies.
Result<ElementSpec> common_spec(
    const std::string& stage,
    const std::vector<std::unique_ptr<Stream>>& inputs);

}  // namespace plimsoll::data
