// An op's gradient as a few ops, and what of its forward pass they read: the
// rest need not be kept.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::runtime {

struct GradientRecipe {
  // Where an operand comes from, or a result goes.
  struct Ref {
    enum class Kind : std::uint8_t { none, input, output, flow, step };
    Kind kind = Kind::none;
    int index = 0;   // of the forward input, output, gradient, or step
    int result = 0;  // of the step
  };
  struct Step {
    const graph::OpDef* op = nullptr;
    graph::Attrs attrs;
    std::vector<Ref> operands;
    int outputs = 1;
  };

  std::vector<Step> steps;
  std::vector<Ref> gradients;      // by forward input; none: no gradient
  std::vector<bool> reads_input;   // by forward input
  std::vector<bool> reads_output;  // by forward output
};

// For the inputs in `wanted`, where gradients arrive at the outputs in
// `flowing`. An op without such a gradient is an error that names it.
Result<GradientRecipe> make_gradient_recipe(const graph::OpDef& op,
                                            const graph::Attrs& attrs,
                                            const graph::TypeList& inputs,
                                            const std::vector<bool>& wanted,
                                            const std::vector<bool>& flowing);

}  // namespace plimsoll::runtime
