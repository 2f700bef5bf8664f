// Several epochs of what is below as one.
#pragma once

#include <cstdint>
#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

inline constexpr std::int64_t kForever = -1;

// Each repetition is an epoch of its own to the input: chance and order below
// differ from one to the next. Elements keep their numbers, so what draws
// chance from them belongs below.
Result<std::unique_ptr<Stream>> repeat_stream(std::unique_ptr<Stream> input,
                                              std::int64_t times);

}  // namespace plimsoll::data
