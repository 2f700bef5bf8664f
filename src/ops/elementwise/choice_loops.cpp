// Compiled once for each instruction-set level, inside namespace PLIMSOLL_ISA.
#include "ops/elementwise/choice_loops.h"

// As in elementwise_loops.cpp: `out` may be an operand, nothing else overlaps.
#if defined(__clang__)
#define PLIMSOLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLIMSOLL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

using Code = graph::ElementwiseCode;
using Bits = std::uint16_t;

// Narrowing leaves numbers alone that were widened, and makes NaNs quiet.
struct StoredBf16 {
  static constexpr Bits kInfinity = 0x7f80;
  static Bits quiet(Bits x) { return static_cast<Bits>(x | 0x40); }
};
struct StoredF16 {
  static constexpr Bits kInfinity = 0x7c00;
  static Bits quiet(Bits x) { return static_cast<Bits>((x & 0x8000) | 0x7e00); }
};

template <class Stored>
inline bool is_nan(Bits x) {
  return static_cast<Bits>(x & 0x7fff) > Stored::kInfinity;
}

// 1 is the least above 0, and NaNs lie above infinity or have a sign.
template <class Stored>
inline bool above_zero(Bits x) {
  return static_cast<Bits>(x - 1) < Stored::kInfinity;
}

template <class Stored>
inline Bits kept(Bits x) {
  return is_nan<Stored>(x) ? Stored::quiet(x) : x;
}

template <Code code, class Stored>
void loop(const void* a, const void* b, const void* c, void* out,
          double /*scalar*/, std::int64_t count) {
  const Bits* x = static_cast<const Bits*>(a);
  const Bits* y = static_cast<const Bits*>(b);
  const Bits* third = static_cast<const Bits*>(c);
  Bits* z = static_cast<Bits*>(out);
  PLIMSOLL_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (code == Code::identity) z[i] = kept<Stored>(x[i]);
    if constexpr (code == Code::relu) {
      const Bits number = above_zero<Stored>(x[i]) ? x[i] : Bits{0};
      z[i] = is_nan<Stored>(x[i]) ? Stored::quiet(x[i]) : number;
    }
    if constexpr (code == Code::relu_grad) {
      z[i] = above_zero<Stored>(y[i]) ? kept<Stored>(x[i]) : Bits{0};
    }
    if constexpr (code == Code::where) {
      const Bits chosen = (x[i] & 0x7fff) != 0 ? y[i] : third[i];
      z[i] = kept<Stored>(chosen);
    }
  }
}

template <class Stored>
constexpr void fill(ElementwiseLoop* loops) {
  const auto put = [&](Code code, ElementwiseLoop one) {
    loops[static_cast<int>(code)] = one;
  };
  put(Code::identity, loop<Code::identity, Stored>);
  put(Code::relu, loop<Code::relu, Stored>);
  put(Code::relu_grad, loop<Code::relu_grad, Stored>);
  put(Code::where, loop<Code::where, Stored>);
}

constexpr ChoiceLoops make_loops() {
  ChoiceLoops all{};
  fill<StoredBf16>(all.bf16);
  fill<StoredF16>(all.f16);
  return all;
}

}  // namespace

const ChoiceLoops& choice_loops() {
  static constexpr ChoiceLoops loops = make_loops();
  return loops;
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
