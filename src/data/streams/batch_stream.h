// Elements stacked along a new first axis.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/stream.h"

namespace plimsoll::data {

// Batches of `elements`, whose shapes must agree; the last one may be smaller
// unless `whole_only`. A batch has the number of its first element.
Result<std::unique_ptr<Stream>> batch_stream(std::unique_ptr<Stream> input,
                                             std::int64_t elements,
                                             bool whole_only);

// What batches of such elements are, if there is room for them.
Result<ElementSpec> batched_spec(const std::string& stage, const Stream& input,
                                 std::int64_t elements, bool whole_only);

// Batches in an epoch of `elements`, or kUnknownCount.
std::int64_t batches_of(std::int64_t count, std::int64_t elements,
                        bool whole_only);

}  // namespace plimsoll::data
