// Where an op's operand lies at a launch.
#pragma once

#include <cstddef>

#include "device/cuda_code.h"

namespace plimsoll::cuda {

inline std::byte* address_of(const Operand& operand, const void* const* inputs,
                             void* const* outputs, void* scratch) {
  const auto number = static_cast<std::size_t>(operand.number);
  const void* start = operand.of == Operand::Of::input    ? inputs[number]
                      : operand.of == Operand::Of::output ? outputs[number]
                                                          : scratch;
  // Libraries take results as mutable; operands are only read.
  return static_cast<std::byte*>(const_cast<void*>(start)) +
         operand.offset_bytes;
}

}  // namespace plimsoll::cuda
