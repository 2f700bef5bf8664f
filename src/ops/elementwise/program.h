// An expression made ready to run block by block: where each operand is read
// and each result is written, with as few slots of scratch as its lifetimes
// allow.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/elementwise.h"

namespace plimsoll::ops {

struct Place {
  enum class Kind : std::uint8_t { none, input, output, slot };
  Kind kind = Kind::none;
  int index = 0;
};

struct Step {
  graph::ElementwiseCode code = graph::ElementwiseCode::identity;
  Place out = {};
  double scalar = 0;
  Place a = {}, b = {}, c = {};
};

struct Program {
  std::vector<Step> once;        // constants: their slots keep their value
  std::vector<Step> steps;       // for every block
  std::vector<int> input_slots;  // the slot that stands for an input, or -1
  int slots = 0;
};

// An output that is written while a later step still reads an input: they
// must not share a buffer.
struct Hazard {
  int input = 0;
  int output = 0;
};

struct CompiledExpression {
  Program direct;  // results go straight to their outputs
  Program safe;    // outputs are written when all inputs have been read
  std::vector<Hazard> hazards;
};

// `in_slot[i]`: input i is not read in place but expanded into a slot.
// `out_slot[j]`: output j is stored in another type than it is computed in: it
// is made in a slot and an identity step of its own moves it to the output.
CompiledExpression compile(const graph::ElementwiseExpression& expression,
                           const std::vector<bool>& in_slot,
                           const std::vector<bool>& out_slot);

}  // namespace plimsoll::ops
