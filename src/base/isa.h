// Which instruction sets loops may use. Files compiled for a newer one (see
// cmake/PlimsollIsa.cmake) are entered only after asking here.
#pragma once

namespace plimsoll {

enum class Isa { baseline, v3, v4 };

// The newest one that this processor runs.
inline Isa best_isa() {
#if defined(__x86_64__)
  static const Isa best = [] {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") != 0 &&
                    __builtin_cpu_supports("fma") != 0 &&
                    __builtin_cpu_supports("bmi2") != 0;
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") != 0 &&
                    __builtin_cpu_supports("avx512bw") != 0 &&
                    __builtin_cpu_supports("avx512cd") != 0 &&
                    __builtin_cpu_supports("avx512dq") != 0 &&
                    __builtin_cpu_supports("avx512vl") != 0;
    return v4 ? Isa::v4 : v3 ? Isa::v3 : Isa::baseline;
  }();
  return best;
#else
  return Isa::baseline;
#endif
}

}  // namespace plimsoll
