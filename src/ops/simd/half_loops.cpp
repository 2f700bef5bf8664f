// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/simd/half_loops.h"

#include "ops/normalization/stored_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

template <class Half>
void widen_all(const std::uint16_t* in, float* out, std::int64_t n) {
  const Half* x = reinterpret_cast<const Half*>(in);
  for_lanes(n, [&](std::int64_t i, std::int64_t end) {
    Lanes<float> lanes;
    load_wide(x, i, end, 0.0f, lanes);
    store_lanes(lanes, out, i, end);
  });
}

template <class Half>
void narrow_all(const float* in, std::uint16_t* out, std::int64_t n) {
  Half* y = reinterpret_cast<Half*>(out);
  for_lanes(n, [&](std::int64_t i, std::int64_t end) {
    Lanes<float> lanes;
    load_lanes(in, i, end, 0.0f, lanes);
    store_narrow(lanes, y, i, end);
  });
}

}  // namespace

HalfLoops half_loops() {
  return {widen_all<Bf16>, widen_all<F16>, narrow_all<Bf16>, narrow_all<F16>};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
