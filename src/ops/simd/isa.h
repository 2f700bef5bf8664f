// Instruction-set levels as kernels name them.
#pragma once

#include <string_view>

#include "base/isa.h"

namespace plimsoll::ops {

using plimsoll::best_isa;
using plimsoll::Isa;

inline std::string_view name_of(Isa isa) {
  if (isa == Isa::v4) return "avx512";
  return isa == Isa::v3 ? "avx2" : "baseline";
}

}  // namespace plimsoll::ops
