// One field of varying extents, padded to a fixed shape.
#pragma once

#include <memory>

#include "data/map.h"
#include "data/maps/one_field.h"

namespace plimsoll::data {

// Elements lie in the corner where every index is 0, with `value` behind them
// on each axis. One that is larger than the shape is an error.
struct PadOptions {
  FieldChoice field = {};
  Extents shape = {};  // as many axes as the field, each 1 or more
  double value = 0;    // one that the field's type can hold
};
std::unique_ptr<Map> pad(PadOptions options);

}  // namespace plimsoll::data
