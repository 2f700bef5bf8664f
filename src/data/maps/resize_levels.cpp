#include "data/maps/resize_loops.h"

namespace plimsoll::data {

namespace isa_baseline {
const ResizeLoops& loops();
}
#if defined(__x86_64__)
namespace isa_v3 {
const ResizeLoops& loops();
}
namespace isa_v4 {
const ResizeLoops& loops();
}
#endif

const ResizeLoops* resize_loops_of(int level) noexcept {
#if defined(__x86_64__)
  const bool has_v3 = __builtin_cpu_supports("avx2") &&
                      __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (level == 1) return has_v3 ? &isa_v3::loops() : nullptr;
  if (level == 2) return has_v4 ? &isa_v4::loops() : nullptr;
#endif
  return level == 0 ? &isa_baseline::loops() : nullptr;
}

const ResizeLoops& resize_loops() noexcept {
  static const ResizeLoops& best = []() -> const ResizeLoops& {
    for (int level = kResizeLevels - 1; level > 0; --level) {
      if (const auto* loops = resize_loops_of(level)) return *loops;
    }
    return *resize_loops_of(0);
  }();
  return best;
}

}  // namespace plimsoll::data
