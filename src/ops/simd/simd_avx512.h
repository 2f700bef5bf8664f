// 512-bit registers; see simd.h.
#pragma once

#include <cstdint>

// GCC 12's own header passes registers that it leaves undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

namespace plimsoll::ops {
namespace {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr int kRegisters = 32;
  // The first n lanes, 0 <= n <= kLanes.
  static Mask mask(std::int64_t n) {
    return static_cast<Mask>((1u << static_cast<unsigned>(n)) - 1u);
  }
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg set(float x) { return _mm512_set1_ps(x); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg load(const float* p, Mask m) {
    return _mm512_maskz_loadu_ps(m, p);
  }
  static void store(float* p, Reg r) { _mm512_storeu_ps(p, r); }
  static void store(float* p, Reg r, Mask m) { _mm512_mask_storeu_ps(p, m, r); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  // c - a * b
  static Reg fnma(Reg a, Reg b, Reg c) { return _mm512_fnmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  static Reg sqrt(Reg a) { return _mm512_sqrt_ps(a); }
  static float sum(Reg a) { return _mm512_reduce_add_ps(a); }
};

template <>
struct Simd<double> {
  using Reg = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kRegisters = 32;
  static Mask mask(std::int64_t n) {
    return static_cast<Mask>((1u << static_cast<unsigned>(n)) - 1u);
  }
  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg set(double x) { return _mm512_set1_pd(x); }
  static Reg load(const double* p) { return _mm512_loadu_pd(p); }
  static Reg load(const double* p, Mask m) {
    return _mm512_maskz_loadu_pd(m, p);
  }
  static void store(double* p, Reg r) { _mm512_storeu_pd(p, r); }
  static void store(double* p, Reg r, Mask m) {
    _mm512_mask_storeu_pd(p, m, r);
  }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static Reg fnma(Reg a, Reg b, Reg c) { return _mm512_fnmadd_pd(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm512_sub_pd(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_pd(a, b); }
  static Reg max(Reg a, Reg b) { return _mm512_max_pd(a, b); }
  static Reg div(Reg a, Reg b) { return _mm512_div_pd(a, b); }
  static Reg sqrt(Reg a) { return _mm512_sqrt_pd(a); }
  static double sum(Reg a) { return _mm512_reduce_add_pd(a); }
};

}  // namespace
}  // namespace plimsoll::ops
