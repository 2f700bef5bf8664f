// The updates' loops over a range of elements, one table per instruction set.
#pragma once

#include <array>
#include <cstdint>

#include "ops/isa.h"
#include "ops/update/update_form.h"

namespace plimsoll::ops {

// Everything an update needs but the range: computed once a launch, in f64,
// and rounded once. Inputs and outputs may be the same memory.
template <class T>
struct UpdateArgs {
  const T* parameter = nullptr;
  const T* gradient = nullptr;
  std::array<const T*, 3> states = {};  // in the order of the op's inputs
  T* new_parameter = nullptr;
  std::array<T*, 3> new_states = {};
  T gain = 1;  // of the gradient; 0: nothing is to be done
  T rate = 0;  // step size; Adam's with both corrections
  // The parameter's factor: 1 - rate * weight decay; of LAMB the latter alone.
  T keep = 1;
  T momentum = 0;
  T gain_1 = 0;  // 1 - beta 1
  T gain_2 = 0;  // 1 - beta 2, or 1 - rho
  T epsilon = 0;
};

template <class T>
using UpdateLoop = void (*)(const UpdateArgs<T>& args, std::int64_t begin,
                            std::int64_t end);
// In the order of the rules.
template <class T>
using UpdateTable = std::array<UpdateLoop<T>, kUpdateRules>;

// Whether no element has all bits of `exponent`: those are infinite or NaN.
template <class Bits>
using FiniteLoop = bool (*)(const Bits* x, std::int64_t n, Bits exponent);

struct UpdateTables {
  UpdateTable<float> f32;
  UpdateTable<double> f64;
  FiniteLoop<std::uint16_t> finite_16;
  FiniteLoop<std::uint32_t> finite_32;
  FiniteLoop<std::uint64_t> finite_64;
};

PLIMSOLL_DECLARE_ISA_TABLE(const UpdateTables&, update_tables)

}  // namespace plimsoll::ops
