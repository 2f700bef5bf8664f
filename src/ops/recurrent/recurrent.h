// Recurrent layers over whole sequences. The product of the layer's input is
// an ordinary one outside: these take the gates' sums [B, T, gates * H] and the
// recurrent kernel u [H, gates * H], and begin with states of 0.
//
// Besides the hidden states the ops give what backward needs: the gates after
// their activations, which may lie where the sums lay, and one value a unit.
// Gradients flow back from the hidden states alone.
#pragma once

#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

// Hidden states [B, T, H]. `gates` is x * W + b, [B, T, 4H], in Keras's order:
// input, forget, cell, output. Keeps the cell states in f32 (f64 for f64).
graph::ValueId lstm(graph::Builder& builder, graph::ValueId gates,
                    graph::ValueId u);

// Hidden states [B, T, H]. `gates` is x * W + b, [B, T, 3H], in Keras's order:
// update, reset, candidate; the reset gate acts behind the recurrent product
// (reset_after), whose own bias is `recurrent_bias` [3H].
graph::ValueId gru(graph::Builder& builder, graph::ValueId gates,
                   graph::ValueId u, graph::ValueId recurrent_bias);

std::span<const graph::OpDef* const> recurrent_ops();

}  // namespace plimsoll::ops
