// f32 to halves by the processor's best instructions.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace plimsoll::io {

using NarrowLoop = void (*)(const float* in, std::uint16_t* out,
                            std::int64_t count) noexcept;
struct NarrowLoops {
  NarrowLoop to_bf16;
  NarrowLoop to_f16;
};

// Of one level, which best_isa() must reach.
NarrowLoops narrow_loops(Isa level) noexcept;

}  // namespace plimsoll::io
