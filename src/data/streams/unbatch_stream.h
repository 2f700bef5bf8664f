// The first axis becomes elements.
#pragma once

#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

// Row k of element n has the number n * R + k, R being the most rows that an
// element can have.
Result<std::unique_ptr<Stream>> unbatch_stream(std::unique_ptr<Stream> input);

}  // namespace plimsoll::data
