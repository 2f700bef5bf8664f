#include "io/narrow.h"

namespace plimsoll::io {

#define PLIMSOLL_DECLARE_LOOPS(level)                                       \
  namespace level {                                                         \
  void narrow_to_bf16(const float*, std::uint16_t*, std::int64_t) noexcept; \
  void narrow_to_f16(const float*, std::uint16_t*, std::int64_t) noexcept;  \
  }
PLIMSOLL_DECLARE_LOOPS(isa_baseline)
#if defined(__x86_64__)
PLIMSOLL_DECLARE_LOOPS(isa_v3)
PLIMSOLL_DECLARE_LOOPS(isa_v4)
#endif
#undef PLIMSOLL_DECLARE_LOOPS

NarrowLoops narrow_loops(Isa level) noexcept {
#if defined(__x86_64__)
  if (level == Isa::v4) return {isa_v4::narrow_to_bf16, isa_v4::narrow_to_f16};
  if (level == Isa::v3) return {isa_v3::narrow_to_bf16, isa_v3::narrow_to_f16};
#endif
  return {isa_baseline::narrow_to_bf16, isa_baseline::narrow_to_f16};
}

}  // namespace plimsoll::io
