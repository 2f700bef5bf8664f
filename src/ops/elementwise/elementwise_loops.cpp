// Compiled once for each instruction-set level, inside namespace PLIMSOLL_ISA.
#include "ops/elementwise/elementwise_loops.h"

// Iterations are independent even where `out` is `a`: the compiler must not
// ask at run time and then take its scalar path.
#if defined(__clang__)
// f64 calls the library and stays scalar; that is no news.
#pragma clang diagnostic ignored "-Wpass-failed"
#define PLIMSOLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLIMSOLL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

using Code = graph::ElementwiseCode;

#include "ops/elementwise/vector_math.inc"

// NaN wins in maximum and minimum, passes through relu, and is equal to
// nothing.
template <Code code, class T>
inline T apply(T a, T b, T c, T s) {
  constexpr T kZero = 0;
  constexpr T kOne = 1;
  if constexpr (code == Code::constant) return s;
  if constexpr (code == Code::identity) return a;
  if constexpr (code == Code::negate) return -a;
  if constexpr (code == Code::add) return a + b;
  if constexpr (code == Code::subtract) return a - b;
  if constexpr (code == Code::multiply) return a * b;
  if constexpr (code == Code::divide) return a / b;
  if constexpr (code == Code::maximum) return ((a > b) | (a != a)) ? a : b;
  if constexpr (code == Code::minimum) return ((a < b) | (a != a)) ? a : b;
  if constexpr (code == Code::add_scalar) return a + s;
  if constexpr (code == Code::multiply_scalar) return a * s;
  if constexpr (code == Code::maximum_scalar) return a < s ? s : a;
  if constexpr (code == Code::minimum_scalar) return a > s ? s : a;
  if constexpr (code == Code::square) return a * a;
  if constexpr (code == Code::sqrt) return sqrt_of(a);
  if constexpr (code == Code::exp) return exp_of(a);
  if constexpr (code == Code::log) return log_of(a);
  if constexpr (code == Code::abs) return abs_of(a);
  if constexpr (code == Code::sign) {
    const T below = a < kZero ? -kOne : a;
    return a > kZero ? kOne : below;
  }
  if constexpr (code == Code::equal) return a == b ? kOne : kZero;
  if constexpr (code == Code::greater) return a > b ? kOne : kZero;
  if constexpr (code == Code::greater_scalar) return a > s ? kOne : kZero;
  if constexpr (code == Code::relu) return a <= kZero ? kZero : a;
  if constexpr (code == Code::leaky_relu) {
    const T scaled = s * a;
    return a > kZero ? a : scaled;
  }
  if constexpr (code == Code::sigmoid) return sigmoid_of(a);
  if constexpr (code == Code::tanh) return tanh_of(a);
  if constexpr (code == Code::gelu) return gelu_of(a);
  if constexpr (code == Code::relu_grad) return b > kZero ? a : kZero;
  if constexpr (code == Code::leaky_relu_grad) {
    const T scaled = s * a;
    return b > kZero ? a : scaled;
  }
  if constexpr (code == Code::sigmoid_grad) return a * b * (kOne - b);
  if constexpr (code == Code::tanh_grad) return a * (kOne - b * b);
  if constexpr (code == Code::gelu_grad) return a * gelu_slope(b);
  if constexpr (code == Code::bce_logits) {
    const T positive = a > kZero ? a : kZero;
    return positive - a * b + log1p_of(exp_of(-abs_of(a)));
  }
  if constexpr (code == Code::gelu_tanh) return gelu_tanh_of(a);
  if constexpr (code == Code::silu) return silu_of(a);
  if constexpr (code == Code::elu) {
    const T below = s * expm1_of(a);
    return a > kZero ? a : below;
  }
  if constexpr (code == Code::softplus) {
    const T positive = a > kZero ? a : kZero;
    return positive + log1p_of(exp_of(-abs_of(a)));
  }
  if constexpr (code == Code::gelu_tanh_grad) return a * gelu_tanh_slope(b);
  if constexpr (code == Code::silu_grad) return a * silu_slope(b);
  if constexpr (code == Code::elu_grad) {
    const T below = a * (b + s);
    return b > kZero ? a : below;
  }
  if constexpr (code == Code::softplus_grad) return -(a * expm1_of(-b));
  if constexpr (code == Code::power) return power_of(a, exponent_of(b));
  if constexpr (code == Code::less) return a < b ? kOne : kZero;
  if constexpr (code == Code::less_equal) return a <= b ? kOne : kZero;
  if constexpr (code == Code::greater_equal) return a >= b ? kOne : kZero;
  if constexpr (code == Code::not_equal) return a != b ? kOne : kZero;
  if constexpr (code == Code::where) return a != kZero ? b : c;
}

constexpr bool reads_b(Code code) {
  switch (code) {
    case Code::add:
    case Code::subtract:
    case Code::multiply:
    case Code::divide:
    case Code::maximum:
    case Code::minimum:
    case Code::equal:
    case Code::greater:
    case Code::relu_grad:
    case Code::leaky_relu_grad:
    case Code::sigmoid_grad:
    case Code::tanh_grad:
    case Code::gelu_grad:
    case Code::bce_logits:
    case Code::gelu_tanh_grad:
    case Code::silu_grad:
    case Code::elu_grad:
    case Code::softplus_grad:
    case Code::power:
    case Code::less:
    case Code::less_equal:
    case Code::greater_equal:
    case Code::not_equal:
      return true;
    default:
      return false;
  }
}

template <Code code, class T>
void loop(const void* a, const void* b, const void* c, void* out, double scalar,
          std::int64_t count) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const T* third = static_cast<const T*>(c);
  T* z = static_cast<T*>(out);
  const T s = static_cast<T>(scalar);
  if constexpr (code == Code::constant) {
    for (std::int64_t i = 0; i < count; ++i) z[i] = s;
  } else if constexpr (code == Code::where) {
    PLIMSOLL_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) {
      z[i] = apply<code>(x[i], y[i], third[i], s);
    }
  } else if constexpr (code == Code::power_scalar) {
    const auto exponent = exponent_of(s);
    PLIMSOLL_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) z[i] = power_of(x[i], exponent);
  } else if constexpr (reads_b(code)) {
    PLIMSOLL_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) {
      z[i] = apply<code>(x[i], y[i], s, s);
    }
  } else {
    PLIMSOLL_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) z[i] = apply<code>(x[i], s, s, s);
  }
}

template <int... codes>
struct Codes {};
template <int count, int... codes>
struct CodesTo : CodesTo<count - 1, count - 1, codes...> {};
template <int... codes>
struct CodesTo<0, codes...> {
  using Type = Codes<codes...>;
};

template <int... codes>
constexpr ElementwiseLoops make_loops(Codes<codes...>) {
  return {{loop<static_cast<Code>(codes), float>...},
          {loop<static_cast<Code>(codes), double>...}};
}

}  // namespace

const ElementwiseLoops& elementwise_loops() {
  static constexpr ElementwiseLoops loops =
      make_loops(CodesTo<graph::kElementwiseCodes>::Type());
  return loops;
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
