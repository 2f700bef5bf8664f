// The first elements of each epoch.
#pragma once

#include <cstdint>
#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

Result<std::unique_ptr<Stream>> take_stream(std::unique_ptr<Stream> input,
                                            std::int64_t elements);

}  // namespace plimsoll::data
