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
// the gradient scatter_add(dy, indices), dy standing for the gradient: a large
// table costs what a batch touches. Rows are lazy, as in PyTorch's SparseAdam:
// the states of a row that no index names do not decay, and weight decay passes
// it by.
std::vector<graph::ValueId> emit_update_rows(graph::Builder& builder,
                                             const UpdateForm& form,
                                             const UpdateInputs& inputs,
                                             graph::ValueId indices,
                                             graph::Attrs attrs);

}  // namespace plimsoll::ops
