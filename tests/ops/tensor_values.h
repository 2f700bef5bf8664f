// Values of tensors as doubles, and the same in a dtype's own bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ops/op_record.h"
#include "ops/reference.h"

namespace plimsoll::ops::testing {

std::vector<std::byte> encode(const RefTensor& tensor);
RefTensor decode(const graph::TensorType& type,
                 std::span<const std::byte> bytes);

// Repeatable values in the record's ranges, rounded to what the given types
// can hold in f32, so that an f64 run sees the same numbers.
std::vector<RefTensor> random_inputs(const OpRecord& record,
                                     const graph::TypeList& types);

}  // namespace plimsoll::ops::testing
