// A function of the user's over features.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "data/map.h"

namespace plimsoll::data {

// `f` makes the f32 features (field 0) of `shape` from those there are. What
// it throws is the element's error.
Result<std::shared_ptr<Map>> function_map(
    const std::vector<std::int64_t>& shape,
    std::function<void(const float* in, float* out)> f);

}  // namespace plimsoll::data
