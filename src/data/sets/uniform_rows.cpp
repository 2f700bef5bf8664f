#include "data/sets/uniform_rows.h"

#include <algorithm>

namespace plimsoll::data {

#define PLIMSOLL_DECLARE_LOOPS(level)                                \
  namespace level {                                                  \
  void fill_uniform_f32(std::uint32_t, std::uint32_t, std::int64_t,  \
                        void*) noexcept;                             \
  void fill_uniform_bf16(std::uint32_t, std::uint32_t, std::int64_t, \
                         void*) noexcept;                            \
  }
PLIMSOLL_DECLARE_LOOPS(isa_baseline)
#if defined(__x86_64__)
PLIMSOLL_DECLARE_LOOPS(isa_v3)
PLIMSOLL_DECLARE_LOOPS(isa_v4)
#endif
#undef PLIMSOLL_DECLARE_LOOPS

UniformLoops uniform_loops(Isa level) noexcept {
#if defined(__x86_64__)
  if (level == Isa::v4) {
    return {isa_v4::fill_uniform_f32, isa_v4::fill_uniform_bf16};
  }
  if (level == Isa::v3) {
    return {isa_v3::fill_uniform_f32, isa_v3::fill_uniform_bf16};
  }
#endif
  return {isa_baseline::fill_uniform_f32, isa_baseline::fill_uniform_bf16};
}

void fill_uniform(std::uint64_t key, std::uint64_t example, std::int64_t first,
                  std::int64_t count, DType dtype, void* out) noexcept {
  static const UniformLoops loops = uniform_loops(best_isa());
  const UniformLoop loop = dtype == DType::bf16 ? loops.bf16 : loops.f32;
  constexpr std::int64_t kPart = std::int64_t{1} << 32;
  auto* to = static_cast<std::byte*>(out);
  while (count > 0) {
    const std::int64_t from = first % kPart;
    const std::int64_t now = std::min(count, kPart - from);
    const UniformRow row(key, example,
                         static_cast<std::uint64_t>(first / kPart));
    loop(row.first(static_cast<std::uint32_t>(from)), row.salt(), now, to);
    first += now;
    to += now * size_of(dtype);
    count -= now;
  }
}

}  // namespace plimsoll::data
