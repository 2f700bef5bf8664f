// Functions of public tensors that make their ops in a builder.
#pragma once

#include "plimsoll/tensor.h"
#include "runtime/eager/invoke.h"

namespace plimsoll::runtime {

// What `build` makes of the tensors. Throws where one is empty, or what was
// given does not fit: the error then names the function, whatever its ops are.
std::vector<Tensor> all_built(const char* name,
                              const std::vector<Tensor>& operands,
                              const Build& build);
Tensor built(const char* name, const std::vector<Tensor>& operands,
             const BuildOne& build);

// A mistake that no op names: "split of f32[2, 6]: why".
void refuse(graph::Builder& builder, const char* name, graph::ValueId operand,
            std::string_view why);

}  // namespace plimsoll::runtime
