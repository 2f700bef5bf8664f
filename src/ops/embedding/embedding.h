// Rows of a table by index. An index outside of the table never touches
// memory: forward its row is NaN, and no gradient or update comes from it.
#pragma once

#include <cstdint>
#include <span>

#include "graph/builder.h"
#include "ops/update/update.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> embedding_ops();

// table [V, D], indices [B, ...] of i32 or i64: [B, ..., D]. A gather whose
// negative indices lie outside.
graph::ValueId embedding(graph::Builder& builder, graph::ValueId table,
                         graph::ValueId indices);

// The updates of update.h on the rows that `indices` name and no others, with
// the gradient scatter_add(dy, indices): a large table costs what a batch
// touches. Rows are lazy, as in PyTorch's SparseAdam: the velocity and moments
// of a row that no index names do not decay, and weight decay passes it by.
graph::ValueId sgd_rows(graph::Builder& builder, graph::ValueId table,
                        graph::ValueId dy, graph::ValueId rate,
                        graph::ValueId indices, graph::ValueId gate = {});
MomentumUpdate sgd_momentum_rows(graph::Builder& builder, graph::ValueId table,
                                 graph::ValueId dy, graph::ValueId velocity,
                                 graph::ValueId rate, graph::ValueId indices,
                                 double momentum, graph::ValueId gate = {});
AdamUpdate adam_rows(graph::Builder& builder, graph::ValueId table,
                     graph::ValueId dy, graph::ValueId first_moment,
                     graph::ValueId second_moment, graph::ValueId rate,
                     graph::ValueId step, graph::ValueId indices,
                     const AdamSettings& settings = {},
                     graph::ValueId gate = {});
AdamUpdate adamw_rows(graph::Builder& builder, graph::ValueId table,
                      graph::ValueId dy, graph::ValueId first_moment,
                      graph::ValueId second_moment, graph::ValueId rate,
                      graph::ValueId step, graph::ValueId indices,
                      double weight_decay, const AdamSettings& settings = {},
                      graph::ValueId gate = {});

}  // namespace plimsoll::ops
