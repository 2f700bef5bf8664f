// Values of tensors as doubles, and the same in a dtype's own bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/layout.h"
#include "ops/op_record.h"
#include "ops/reference.h"

namespace plimsoll::ops::testing {

std::vector<std::byte> encode(const RefTensor& tensor);
RefTensor decode(const graph::TensorType& type,
                 std::span<const std::byte> bytes);

// A tensor as it lies in its layout, number `at` of some that may be missing:
// packed, or as it is.
graph::TensorType packed_type(const graph::TensorType& type,
                              const std::vector<graph::Layout>& layouts,
                              std::size_t at);
RefTensor packed(const RefTensor& tensor,
                 const std::vector<graph::Layout>& layouts, std::size_t at);
RefTensor unpacked(const RefTensor& tensor, const graph::TensorType& type,
                   const std::vector<graph::Layout>& layouts, std::size_t at);

// Repeatable values in the record's ranges, rounded to what the given types
// can hold in f32, so that an f64 run sees the same numbers.
std::vector<RefTensor> random_inputs(const OpRecord& record,
                                     const graph::TypeList& types);

}  // namespace plimsoll::ops::testing
