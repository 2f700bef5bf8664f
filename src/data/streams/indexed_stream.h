// A set read in the order of its numbers.
#pragma once

#include <memory>

#include "data/indexed.h"
#include "data/stream.h"

namespace plimsoll::data {

Result<std::unique_ptr<Stream>> indexed_stream(
    std::shared_ptr<const Indexed> set);

}  // namespace plimsoll::data
