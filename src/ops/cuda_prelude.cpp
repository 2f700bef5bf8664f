#include "ops/cuda_prelude.h"

#include <string>

namespace plimsoll::ops {
namespace {

// Products and sums are written as calls that are never contracted: a result
// must not depend on what else stands in the kernel.
constexpr std::string_view kTypes = R"(
#define DEVICE __device__ __forceinline__
typedef float f32;
typedef double f64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct bf16 { u16 bits; };
struct f16 { u16 bits; };
struct boolean { u8 byte; };

DEVICE f32 add(f32 a, f32 b) { return __fadd_rn(a, b); }
DEVICE f64 add(f64 a, f64 b) { return __dadd_rn(a, b); }
DEVICE f32 sub(f32 a, f32 b) { return __fsub_rn(a, b); }
DEVICE f64 sub(f64 a, f64 b) { return __dsub_rn(a, b); }
DEVICE f32 mul(f32 a, f32 b) { return __fmul_rn(a, b); }
DEVICE f64 mul(f64 a, f64 b) { return __dmul_rn(a, b); }
DEVICE f32 div(f32 a, f32 b) { return __fdiv_rn(a, b); }
DEVICE f64 div(f64 a, f64 b) { return __ddiv_rn(a, b); }
// a * b + c, rounded once
DEVICE f32 mul_add(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
DEVICE f64 mul_add(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
DEVICE f32 root(f32 a) { return __fsqrt_rn(a); }
DEVICE f64 root(f64 a) { return __dsqrt_rn(a); }
DEVICE f32 exp_of(f32 a) { return expf(a); }
DEVICE f64 exp_of(f64 a) { return exp(a); }
DEVICE f32 log_of(f32 a) { return logf(a); }
DEVICE f64 log_of(f64 a) { return log(a); }
DEVICE f32 log1p_of(f32 a) { return log1pf(a); }
DEVICE f64 log1p_of(f64 a) { return log1p(a); }
DEVICE f32 expm1_of(f32 a) { return expm1f(a); }
DEVICE f64 expm1_of(f64 a) { return expm1(a); }
DEVICE f32 tanh_of(f32 a) { return tanhf(a); }
DEVICE f64 tanh_of(f64 a) { return tanh(a); }
DEVICE f32 erfc_of(f32 a) { return erfcf(a); }
DEVICE f64 erfc_of(f64 a) { return erfc(a); }
DEVICE f32 power_of(f32 a, f32 b) { return powf(a, b); }
DEVICE f64 power_of(f64 a, f64 b) { return pow(a, b); }
DEVICE f32 abs_of(f32 a) { return fabsf(a); }
DEVICE f64 abs_of(f64 a) { return fabs(a); }
template <class T> DEVICE T infinity_of();
template <> DEVICE f32 infinity_of<f32>() {
  return __uint_as_float(0x7f800000u);
}
template <> DEVICE f64 infinity_of<f64>() {
  return __longlong_as_double(0x7ff0000000000000ll);
}
template <class T> DEVICE T nan_of();
template <> DEVICE f32 nan_of<f32>() { return __uint_as_float(0x7fc00000u); }
template <> DEVICE f64 nan_of<f64>() {
  return __longlong_as_double(0x7ff8000000000000ll);
}
)";

// The CPU's conversions, see base/half.h and ops/movement/cast_cpu.cpp.
constexpr std::string_view kConversions = R"(
template <class T> DEVICE T load(T stored) { return stored; }
DEVICE f32 load(bf16 stored) {
  return __uint_as_float((u32)stored.bits << 16);
}
DEVICE f32 load(f16 stored) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored.bits));
  return value;
}
DEVICE u8 load(boolean stored) { return stored.byte != 0; }

DEVICE bf16 bf16_of(f32 value) {
  const u32 bits = __float_as_uint(value);
  bf16 stored;
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    stored.bits = (u16)((bits >> 16) | 0x40u);
  } else {
    stored.bits = (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  return stored;
}
DEVICE f16 f16_of(f32 value) {
  const u32 bits = __float_as_uint(value);
  f16 stored;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored.bits) : "f"(value));
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    stored.bits = (u16)(((bits >> 16) & 0x8000u) | 0x7e00u);
  }
  return stored;
}

// Towards zero, held to the type's ends; NaN is 0.
template <class To, class From> DEVICE To saturate(From value) {
  const bool has_sign = (To)-1 < (To)0;
  const int digits = 8 * (int)sizeof(To) - (has_sign ? 1 : 0);
  const To high = (To)(~0ull >> (64 - digits));
  const To low = has_sign ? (To)(-(i64)high - 1) : (To)0;
  if (value != value) return 0;
  if (value >= (From)(To)(high / 2 + 1) * (From)2) return high;
  if (value <= (From)low) return low;
  return (To)value;
}

template <class To> struct Into {  // an integer
  template <class V> static DEVICE To of(V value) { return (To)value; }
  static DEVICE To of(f32 value) { return saturate<To>(value); }
  static DEVICE To of(f64 value) { return saturate<To>(value); }
};
template <> struct Into<f32> {
  template <class V> static DEVICE f32 of(V value) { return (f32)value; }
};
template <> struct Into<f64> {
  template <class V> static DEVICE f64 of(V value) { return (f64)value; }
};
template <> struct Into<bf16> {
  template <class V> static DEVICE bf16 of(V value) {
    return bf16_of((f32)value);
  }
};
template <> struct Into<f16> {
  template <class V> static DEVICE f16 of(V value) {
    return f16_of((f32)value);
  }
};
template <> struct Into<boolean> {
  template <class V> static DEVICE boolean of(V value) {
    boolean stored;
    stored.byte = value != (V)0;
    return stored;
  }
};
template <class T, class V> DEVICE T store(V value) {
  return Into<T>::of(value);
}

// Elements that are moved at once.
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T v[N]; };
template <int N, class T> DEVICE Vec<T, N> read(const T* from) {
  return *(const Vec<T, N>*)from;
}
// Of any type, in pieces of 16 bytes at the most.
template <int N, class C, class T> DEVICE Vec<C, N> read_as(const T* from) {
  const int some = N * sizeof(T) <= 16 ? N : 16 / (int)sizeof(T);
  Vec<C, N> value;
#pragma unroll
  for (int i = 0; i < N; i += some) {
    const Vec<T, some> piece = read<some>(from + i);
#pragma unroll
    for (int k = 0; k < some; ++k) value.v[i + k] = (C)load(piece.v[k]);
  }
  return value;
}
template <int N, class T> DEVICE void write(T* to, const Vec<T, N>& value) {
  *(Vec<T, N>*)to = value;
}
)";

// Joins by halves and neighbours, so that every thread of a team has the same
// result. All threads of the team take part.
constexpr std::string_view kTeams = R"(
struct Sum {
  template <class T> static DEVICE T start() { return 0; }
  template <class T> static DEVICE T join(T a, T b) { return add(a, b); }
};
struct Max {
  template <class T> static DEVICE T start() { return -infinity_of<T>(); }
  // A NaN on either side stays.
  template <class T> static DEVICE T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
template <class T> DEVICE bool better(T a, u32 at, T b, u32 than) {
  return a > b || (a == b && at < than);
}

// Lanes of a warp that follow each other, each team by itself.
template <int Threads> struct Lanes {
  static const int size = Threads;
  static DEVICE u32 lane() { return threadIdx.x % Threads; }
  static DEVICE u32 members() {
    return 0xffffffffu >> (32 - Threads) << (threadIdx.x / Threads * Threads % 32);
  }
  template <class Op, class T> static DEVICE T join_in(T value, int widest) {
#pragma unroll
    for (int step = widest; step > 0; step >>= 1) {
      value = Op::join(value, __shfl_xor_sync(members(), value, step));
    }
    return value;
  }
  template <class Op, class T> static DEVICE T join(T value) {
    return join_in<Op>(value, Threads / 2);
  }
  template <class Op, class T> static DEVICE void join_both(T& a, T& b) {
#pragma unroll
    for (int step = Threads / 2; step > 0; step >>= 1) {
      a = Op::join(a, __shfl_xor_sync(members(), a, step));
      b = Op::join(b, __shfl_xor_sync(members(), b, step));
    }
  }
  template <class T> static DEVICE u32 first_best(T& value, u32 at) {
#pragma unroll
    for (int step = Threads / 2; step > 0; step >>= 1) {
      const T other = __shfl_xor_sync(members(), value, step);
      const u32 place = __shfl_xor_sync(members(), at, step);
      if (better(other, place, value, at)) {
        value = other;
        at = place;
      }
    }
    return at;
  }
};
template <int Threads> struct Team;
template <> struct Team<4> : Lanes<4> {};
template <> struct Team<8> : Lanes<8> {};
template <> struct Team<16> : Lanes<16> {};
template <> struct Team<32> : Lanes<32> {};
// Warps of a block that follow each other. All teams of a block join at once.
template <int Threads> struct Team {
  static const int size = Threads;
  static DEVICE u32 lane() { return threadIdx.x % Threads; }
  static DEVICE u32 part() {
    return threadIdx.x / Threads * (Threads / 32) + threadIdx.x % (Threads / 32);
  }
  template <class Op, class T> static DEVICE T join(T value) {
    __shared__ T parts[16];
    value = Team<32>::join<Op>(value);
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = value;
    __syncthreads();
    value = Team<32>::join_in<Op>(parts[part()], Threads / 64);
    __syncthreads();
    return value;
  }
  // Two values wait for the other warps once.
  template <class Op, class T> static DEVICE void join_both(T& a, T& b) {
    __shared__ T parts[2 * 16];
    Team<32>::join_both<Op>(a, b);
    if ((threadIdx.x & 31) == 0) {
      parts[threadIdx.x >> 5] = a;
      parts[16 + (threadIdx.x >> 5)] = b;
    }
    __syncthreads();
    a = Team<32>::join_in<Op>(parts[part()], Threads / 64);
    b = Team<32>::join_in<Op>(parts[16 + part()], Threads / 64);
    __syncthreads();
  }
  template <class T> static DEVICE u32 first_best(T value, u32 at) {
    __shared__ T parts[16];
    __shared__ u32 places[16];
    at = Team<32>::first_best(value, at);
    if ((threadIdx.x & 31) == 0) {
      parts[threadIdx.x >> 5] = value;
      places[threadIdx.x >> 5] = at;
    }
    __syncthreads();
    value = parts[part()];
    at = Team<32>::first_best(value, places[part()]);
    __syncthreads();
    return at;
  }
};

// Shared memory for all functions of a kernel, one after the other: each
// leaves it with a barrier.
template <class T> DEVICE T* shared_lanes() {
  __shared__ T lanes[512];
  return lanes;
}
template <class T> DEVICE T* shared_tile() {
  __shared__ T tile[32 * 33];
  return tile;
}
// The largest piece, for tiles of whole matrices: one for all types.
DEVICE void* shared_room() {
  __shared__ __align__(16) unsigned char room[36 * 1024];
  return room;
}

// All elements of a vector, by halves.
template <class Op, class C, class T, int N> DEVICE C join_all(Vec<T, N> x) {
  C joined[N];
#pragma unroll
  for (int j = 0; j < N; ++j) joined[j] = load(x.v[j]);
#pragma unroll
  for (int half = N / 2; half > 0; half >>= 1) {
#pragma unroll
    for (int j = 0; j < half; ++j) {
      joined[j] = Op::join(joined[j], joined[j + half]);
    }
  }
  return joined[0];
}
)";

// What softmax and the losses do with a row of n elements.
constexpr std::string_view kRows = R"(
// A row that has a bias added as it is read.
template <class T> struct Biased {
  const T* x;
  const T* bias;
  template <class I> DEVICE T operator[](I j) const {
    return add(x[j], bias[j]);
  }
};
// The largest; NaN where there is one.
template <class Threads, class C, class Row, class I>
DEVICE C row_max(Row x, I n) {
  C top = Max::start<C>();
  for (I j = Threads::lane(); j < n; j += Threads::size) {
    top = Max::join(top, (C)load(x[j]));
  }
  return Threads::template join<Max>(top);
}
template <class Threads, class C, class T, class I>
DEVICE C row_sum(const T* x, I n) {
  C sum = 0;
  for (I j = Threads::lane(); j < n; j += Threads::size) {
    sum = add(sum, (C)load(x[j]));
  }
  return Threads::template join<Sum>(sum);
}
template <class Threads, class C, class Row, class I>
DEVICE C row_exp_sum(Row x, I n, C top) {
  C sum = 0;
  for (I j = Threads::lane(); j < n; j += Threads::size) {
    sum = add(sum, exp_of(sub((C)load(x[j]), top)));
  }
  return Threads::template join<Sum>(sum);
}
// The first of the largest; a NaN is never larger. Every thread begins with
// the first element: where that is NaN, it stays.
template <class Threads, class C, class T, class I>
DEVICE u32 row_argmax(const T* x, I n) {
  C best = load(x[0]);
  u32 at = 0;
  for (I j = Threads::lane(); j < n; j += Threads::size) {
    const C next = load(x[j]);
    if (next > best) {
      best = next;
      at = (u32)j;
    }
  }
  return Threads::first_best(best, at);
}
)";

// The vocabulary of graph/elementwise.h, by its names.
constexpr std::string_view kElementwise = R"(
#define ELEMENTWISE template <class T> DEVICE T
ELEMENTWISE e_constant(T s) { return s; }
ELEMENTWISE e_identity(T a) { return a; }
ELEMENTWISE e_negate(T a) { return -a; }
ELEMENTWISE e_add(T a, T b) { return add(a, b); }
ELEMENTWISE e_subtract(T a, T b) { return sub(a, b); }
ELEMENTWISE e_multiply(T a, T b) { return mul(a, b); }
ELEMENTWISE e_divide(T a, T b) { return div(a, b); }
// NaN wins in maximum and minimum, passes through relu, equals nothing.
ELEMENTWISE e_maximum(T a, T b) { return a > b || a != a ? a : b; }
ELEMENTWISE e_minimum(T a, T b) { return a < b || a != a ? a : b; }
ELEMENTWISE e_add_scalar(T a, T s) { return add(a, s); }
ELEMENTWISE e_multiply_scalar(T a, T s) { return mul(a, s); }
ELEMENTWISE e_maximum_scalar(T a, T s) { return a < s ? s : a; }
ELEMENTWISE e_minimum_scalar(T a, T s) { return a > s ? s : a; }
ELEMENTWISE e_square(T a) { return mul(a, a); }
ELEMENTWISE e_sqrt(T a) { return root(a); }
ELEMENTWISE e_exp(T a) { return exp_of(a); }
ELEMENTWISE e_log(T a) { return log_of(a); }
ELEMENTWISE e_abs(T a) { return abs_of(a); }
ELEMENTWISE e_sign(T a) { return a > (T)0 ? (T)1 : a < (T)0 ? (T)-1 : a; }
ELEMENTWISE e_equal(T a, T b) { return a == b ? (T)1 : (T)0; }
ELEMENTWISE e_greater(T a, T b) { return a > b ? (T)1 : (T)0; }
ELEMENTWISE e_greater_scalar(T a, T s) { return a > s ? (T)1 : (T)0; }
ELEMENTWISE e_relu(T a) { return a <= (T)0 ? (T)0 : a; }
ELEMENTWISE e_leaky_relu(T a, T s) { return a > (T)0 ? a : mul(s, a); }
ELEMENTWISE e_sigmoid(T a) {
  const T e = exp_of(-abs_of(a));
  const T r = div((T)1, add((T)1, e));
  return a < (T)0 ? mul(e, r) : r;
}
ELEMENTWISE e_tanh(T a) { return tanh_of(a); }
// P(X < a) of a standard normal X
ELEMENTWISE normal_cdf(T a) {
  return mul((T)0.5, erfc_of(mul(a, (T)-0.70710678118654752440)));
}
// Factors are bounded where the other one is 0: infinity times 0 is 0 here.
ELEMENTWISE e_gelu(T a) {
  return mul(a < (T)-40 ? (T)-40 : a, normal_cdf(a));
}
ELEMENTWISE e_relu_grad(T a, T b) { return b > (T)0 ? a : (T)0; }
ELEMENTWISE e_leaky_relu_grad(T a, T b, T s) {
  return b > (T)0 ? a : mul(s, a);
}
ELEMENTWISE e_sigmoid_grad(T a, T b) { return mul(mul(a, b), sub((T)1, b)); }
ELEMENTWISE e_tanh_grad(T a, T b) { return mul(a, sub((T)1, mul(b, b))); }
ELEMENTWISE e_gelu_grad(T a, T b) {
  const T x = b < (T)-40 ? (T)-40 : b > (T)40 ? (T)40 : b;
  const T density = mul(exp_of(mul((T)-0.5, mul(x, x))),
                        (T)0.39894228040143267794);
  return mul(a, add(normal_cdf(b), mul(x, density)));
}
ELEMENTWISE e_bce_logits(T a, T b) {
  const T positive = a > (T)0 ? a : (T)0;
  return add(sub(positive, mul(a, b)), log1p_of(exp_of(-abs_of(a))));
}
template <class T> struct Logistic { T value, slope; };
template <class T> DEVICE Logistic<T> logistic(T a) {
  const T e = exp_of(-abs_of(a));
  const T r = div((T)1, add((T)1, e));
  return {a < (T)0 ? mul(e, r) : r, mul(mul(e, r), r)};
}
// The tanh form is a * sigmoid(u) with u = sqrt(8 / pi) (a + 0.044715 a^3).
ELEMENTWISE gelu_argument(T a) {
  const T cubic = mul(mul(a, a), (T)0.044715);
  return mul(mul(a, add(cubic, (T)1)), (T)1.59576912160573071176);
}
ELEMENTWISE e_gelu_tanh(T a) {
  return mul(a < (T)-40 ? (T)-40 : a, logistic(gelu_argument(a)).value);
}
ELEMENTWISE e_silu(T a) {
  return mul(a < (T)-800 ? (T)-800 : a, logistic(a).value);
}
ELEMENTWISE e_elu(T a, T s) { return a > (T)0 ? a : mul(s, expm1_of(a)); }
ELEMENTWISE e_softplus(T a) {
  return add(a > (T)0 ? a : (T)0, log1p_of(exp_of(-abs_of(a))));
}
ELEMENTWISE e_gelu_tanh_grad(T a, T b) {
  const T x = b < (T)-40 ? (T)-40 : b > (T)40 ? (T)40 : b;
  const Logistic<T> s = logistic(gelu_argument(x));
  const T inner = mul(add(mul(mul(x, x), (T)0.134145), (T)1),
                      (T)1.59576912160573071176);
  return mul(a, add(s.value, mul(x, mul(s.slope, inner))));
}
ELEMENTWISE e_silu_grad(T a, T b) {
  const T x = b < (T)-800 ? (T)-800 : b > (T)800 ? (T)800 : b;
  const Logistic<T> s = logistic(x);
  return mul(a, add(s.value, mul(x, s.slope)));
}
ELEMENTWISE e_elu_grad(T a, T b, T s) {
  return b > (T)0 ? a : mul(a, add(b, s));
}
ELEMENTWISE e_softplus_grad(T a, T b) { return -mul(a, expm1_of(-b)); }
ELEMENTWISE e_power(T a, T b) { return power_of(a, b); }
ELEMENTWISE e_power_scalar(T a, T s) { return power_of(a, s); }
ELEMENTWISE e_less(T a, T b) { return a < b ? (T)1 : (T)0; }
ELEMENTWISE e_less_equal(T a, T b) { return a <= b ? (T)1 : (T)0; }
ELEMENTWISE e_greater_equal(T a, T b) { return a >= b ? (T)1 : (T)0; }
ELEMENTWISE e_not_equal(T a, T b) { return a != b ? (T)1 : (T)0; }
ELEMENTWISE e_where(T a, T b, T c) { return a != (T)0 ? b : c; }
)";

// Philox 4x32-10, see base/philox.h.
constexpr std::string_view kRandom = R"(
struct PhiloxBlock { u32 x0, x1, x2, x3; };
DEVICE PhiloxBlock philox(u64 key, u64 high, u64 low) {
  u32 k0 = (u32)key, k1 = (u32)(key >> 32);
  PhiloxBlock x = {(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = 0xD2511F53ull * x.x0;
    const u64 p1 = 0xCD9E8D57ull * x.x2;
    x = {(u32)(p1 >> 32) ^ x.x1 ^ k0, (u32)p1, (u32)(p0 >> 32) ^ x.x3 ^ k1,
         (u32)p0};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}
)";

}  // namespace

std::string_view cuda_prelude() {
  static const std::string text = [] {
    std::string all;
    for (const std::string_view part :
         {kTypes, kConversions, kTeams, kRows, kElementwise, kRandom}) {
      all += part;
    }
    return all;
  }();
  return text;
}

}  // namespace plimsoll::ops
