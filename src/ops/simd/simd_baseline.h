// 128-bit registers by the compiler's own vector types, for any processor;
// see simd.h. There is no fused product: fma rounds twice.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace plimsoll::ops {
namespace {

template <class T>
struct Simd {
  static constexpr int kLanes = static_cast<int>(16 / sizeof(T));
  static constexpr int kRegisters = 16;
  typedef T Reg __attribute__((vector_size(16)));
  using Mask = std::int64_t;  // number of lanes
  static Mask mask(std::int64_t n) { return n; }
  static Reg zero() { return Reg{}; }
  static Reg set(T x) { return Reg{} + x; }
  static Reg load(const T* p) {
    Reg r;
    std::memcpy(&r, p, sizeof(r));
    return r;
  }
  static Reg load(const T* p, Mask n) {
    Reg r{};
    for (std::int64_t i = 0; i < n; ++i) r[i] = p[i];
    return r;
  }
  static void store(T* p, Reg r) { std::memcpy(p, &r, sizeof(r)); }
  static void store(T* p, Reg r, Mask n) {
    for (std::int64_t i = 0; i < n; ++i) p[i] = r[i];
  }
  static Reg fma(Reg a, Reg b, Reg c) { return a * b + c; }
  // c - a * b
  static Reg fnma(Reg a, Reg b, Reg c) { return c - a * b; }
  static Reg add(Reg a, Reg b) { return a + b; }
  static Reg sub(Reg a, Reg b) { return a - b; }
  static Reg mul(Reg a, Reg b) { return a * b; }
  static Reg max(Reg a, Reg b) { return a > b ? a : b; }
  static Reg div(Reg a, Reg b) { return a / b; }
  static Reg sqrt(Reg a) {
    for (int i = 0; i < kLanes; ++i) a[i] = std::sqrt(a[i]);
    return a;
  }
  static T sum(Reg a) {
    T total = 0;
    for (int i = 0; i < kLanes; ++i) total += a[i];
    return total;
  }
};

}  // namespace
}  // namespace plimsoll::ops
