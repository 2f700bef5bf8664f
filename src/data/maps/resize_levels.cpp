#include "base/isa.h"
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
  if (level > static_cast<int>(best_isa())) return nullptr;
#if defined(__x86_64__)
  if (level == 1) return &isa_v3::loops();
  if (level == 2) return &isa_v4::loops();
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
