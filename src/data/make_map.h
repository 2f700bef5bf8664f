// From the recipe of a map to the map.
#pragma once

#include <memory>

#include "data/map.h"
#include "data/recipe.h"

namespace plimsoll::data {

// Without chance (in evaluation) a
// random crop is one of the centre. `salt` tells maps of one pipeline apart.
Result<std::shared_ptr<Map>> make_map(const Recipe& recipe, bool chance,
                                      std::uint64_t salt);

}  // namespace plimsoll::data
