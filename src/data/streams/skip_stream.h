// Each epoch without its first elements.
#pragma once

#include <cstdint>
#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

Result<std::unique_ptr<Stream>> skip_stream(std::unique_ptr<Stream> input,
                                            std::int64_t elements);

}  // namespace plimsoll::data
