// Bytes that spell a number, as in a WebDataset's `cls` files.
#pragma once

#include <memory>

#include "base/dtype.h"
#include "data/map.h"
#include "data/maps/one_field.h"

namespace plimsoll::data {

// Spaces and newlines around it are passed over; anything else is an error.
struct ParseNumberOptions {
  FieldChoice field = {};
  DType to = DType::i32;
};
std::unique_ptr<Map> parse_number(ParseNumberOptions options);

}  // namespace plimsoll::data
