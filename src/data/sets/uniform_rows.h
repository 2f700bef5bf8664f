// Rows of random numbers, made where they are needed. Element e of example i
// is a function of (key, i, e) alone; the layout of counters lets 8 blocks be
// made at once without reordering their words.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace plimsoll::data {

inline constexpr std::int64_t kUniformGroup = 32;  // 8 counters of 4 words

inline std::uint32_t uniform_bits(std::uint64_t key, std::uint64_t example,
                                  std::uint64_t element) {
  return philox(key, example, element / 32 * 8 + element % 8)[element / 8 % 4];
}

// Writes elements [first, first + count) of the example, uniform in [0, 1).
// `first` is a multiple of kUniformGroup.
void fill_uniform(std::uint64_t key, std::uint64_t example, std::int64_t first,
                  std::int64_t count, float* out) noexcept;

// For tests and measurements: one way of filling groups of 32 elements.
struct UniformKernel {
  const char* name;
  bool supported;  // by this processor
  void (*fill)(std::uint64_t key, std::uint64_t example,
               std::uint64_t first_group, std::int64_t groups,
               float* out) noexcept;
};
inline constexpr int kUniformKernels = 3;  // slowest first
UniformKernel uniform_kernel(int index) noexcept;

}  // namespace plimsoll::data
