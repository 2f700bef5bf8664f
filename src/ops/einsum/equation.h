// What an einsum's text says of its axes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::ops {

// One character an axis; those of an ellipsis are '0', '1', ... from the last
// axis on. A character that an operand has twice is a diagonal of it.
struct EinsumEquation {
  std::string a;
  std::string b;
  std::string result;
};

// Of operands with so many axes; the error says what is wrong with the text.
Result<EinsumEquation> parse_einsum(std::string_view text, int rank_of_a,
                                    int rank_of_b);

}  // namespace plimsoll::ops
