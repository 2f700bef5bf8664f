// The elements that a predicate lets through.
#pragma once

#include <functional>
#include <memory>

#include "data/stream.h"

namespace plimsoll::data {

using Predicate = std::function<Result<bool>(const Element&)>;

// What the predicate throws or returns as an error names the element.
std::unique_ptr<Stream> filter_stream(std::unique_ptr<Stream> input,
                                      Predicate predicate);

}  // namespace plimsoll::data
