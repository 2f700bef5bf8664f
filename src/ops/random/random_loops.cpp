// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/random/random_loops.h"

#include "ops/random/random_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

template <class T>
void dropout(const T* x, std::int64_t first, std::int64_t n,
             const DropoutMask& mask, T scale, T* y) {
  std::uint32_t words[kGroup];
  for (std::int64_t i = 0; i < n; i += kGroup) {
    const auto group = static_cast<std::uint64_t>((first + i) / kGroup);
    make_words(mask.key, mask.step, group * kBlocks, words);
    const std::int64_t count = n - i < kGroup ? n - i : kGroup;
    for (std::int64_t j = 0; j < count; ++j) {
      const T scaled = x[i + j] * scale;
      y[i + j] = words[j] >= mask.threshold ? scaled : T(0);
    }
  }
}

}  // namespace

RandomTables random_tables() { return {dropout<float>, dropout<double>}; }

}  // namespace plimsoll::ops::PLIMSOLL_ISA
