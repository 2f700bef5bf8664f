// CUDA's words for the host's compiler, in front of generated kernels: what
// they use of the language, no more. Threads are those of block.h.
#pragma once

#include <math.h>
#include <string.h>

#include "base/half.h"

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))

struct Here {
  struct Index {
    unsigned x;
  };
  Index thread;
  Index block;
  void (*wait)(Here*);
  void (*meet)(Here*, unsigned mask, void* mine, void (*act)(void* const* all));
};
static Here* here;
#define threadIdx (here->thread)
#define blockIdx (here->block)

extern "C" __attribute__((visibility("default"))) void begin(Here* at) {
  here = at;
}

// As many as a block has; each has a lane of its warp.
static const unsigned kLanes = 32;
static inline unsigned lane_of() { return here->thread.x % kLanes; }

static inline void __syncthreads() { here->wait(here); }

template <class T>
struct Given {
  T value;
  T got;
  int step;
};
template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int step) {
  Given<T> mine = {value, value, step};
  here->meet(here, mask, &mine, [](void* const* all) {
    for (unsigned i = 0; i < kLanes; ++i) {
      if (all[i] == nullptr) continue;
      Given<T>& to = *(Given<T>*)all[i];
      const Given<T>* from = (const Given<T>*)all[i ^ (unsigned)to.step];
      // A lane that is not there gives what no result should be.
      if (from != nullptr) {
        to.got = from->value;
      } else {
        memset(&to.got, 0xff, sizeof(T));
      }
    }
  });
  return mine.got;
}

static inline unsigned __ballot_sync(unsigned mask, int mine) {
  Given<unsigned> place = {mine != 0, 0, 0};
  here->meet(here, mask, &place, [](void* const* all) {
    unsigned votes = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      if (all[i] != nullptr && ((Given<unsigned>*)all[i])->value != 0) {
        votes |= 1u << i;
      }
    }
    for (unsigned i = 0; i < kLanes; ++i) {
      if (all[i] != nullptr) ((Given<unsigned>*)all[i])->got = votes;
    }
  });
  return place.got;
}

static inline void __syncwarp(unsigned mask = 0xffffffffu) {
  int nothing = 0;
  here->meet(here, mask, &nothing, [](void* const*) {});
}

static inline int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }

using std::bit_cast;
static inline float __uint_as_float(unsigned v) { return bit_cast<float>(v); }
static inline unsigned __float_as_uint(float v) {
  return bit_cast<unsigned>(v);
}
static inline double __longlong_as_double(long long v) {
  return bit_cast<double>(v);
}
static inline long long __double_as_longlong(double v) {
  return bit_cast<long long>(v);
}

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
static inline double cospi(double x) { return cos(M_PI * x); }
template <class A, class B>
static inline auto min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
static inline auto max(A a, B b) {
  return a < b ? b : a;
}

// Instructions that kernels name in `asm`, with dots as underscores, results
// first.
static inline void ptx_cvt_f32_f16(float& to, unsigned short from) {
  to = plimsoll::f16_to_float(from);
}
static inline void ptx_cvt_rn_f16_f32(unsigned short& to, float from) {
  to = plimsoll::float_to_f16(from);
}
static inline void ptx_ex2_approx_ftz_f32(float& to, float x) { to = exp2f(x); }

static inline void ptx_cvt_rn_bf16x2_f32(unsigned& to, float high, float low) {
  to = (unsigned)plimsoll::float_to_bf16(high) << 16 |
       plimsoll::float_to_bf16(low);
}
static inline void ptx_cvt_rn_f16x2_f32(unsigned& to, float high, float low) {
  to = (unsigned)plimsoll::float_to_f16(high) << 16 |
       plimsoll::float_to_f16(low);
}

// sums (16 x 8) += a (16 x 16) * b (16 x 8) of a warp.
struct MatrixPiece {
  float sums[4];
  unsigned a[4];
  unsigned b[2];
};
template <float widen(unsigned short)>
static void multiply_pieces(void* const* all) {
  const auto element = [](unsigned pair, int which) {
    return widen((unsigned short)(pair >> 16 * which));
  };
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      MatrixPiece& to = *(MatrixPiece*)all[row % 8 * 4 + column / 2];
      float& sum = to.sums[row / 8 * 2 + column % 2];
      for (int k = 0; k < 16; ++k) {
        const auto& left = *(const MatrixPiece*)all[row % 8 * 4 + k % 8 / 2];
        const auto& right = *(const MatrixPiece*)all[column * 4 + k % 8 / 2];
        sum += element(left.a[row / 8 + k / 8 * 2], k % 2) *
               element(right.b[k / 8], k % 2);
      }
    }
  }
}
template <float widen(unsigned short)>
static void multiply_in_warp(float& s0, float& s1, float& s2, float& s3,
                             unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                             unsigned b0, unsigned b1) {
  MatrixPiece mine = {{s0, s1, s2, s3}, {a0, a1, a2, a3}, {b0, b1}};
  here->meet(here, 0xffffffffu, &mine, multiply_pieces<widen>);
  s0 = mine.sums[0];
  s1 = mine.sums[1];
  s2 = mine.sums[2];
  s3 = mine.sums[3];
}
#define ptx_mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32 \
  multiply_in_warp<plimsoll::bf16_to_float>
#define ptx_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32 \
  multiply_in_warp<plimsoll::f16_to_float>

// Addresses of shared memory have 32 bits: how far they are from a place.
static char shared_place;
static inline unsigned __cvta_generic_to_shared(const void* at) {
  return (unsigned)((const char*)at - &shared_place);
}
static inline char* from_shared(unsigned address) {
  return &shared_place + (int)address;
}

// Four pieces of 8 x 8; lane l has row l % 8 of piece l / 8 to point at.
struct FourPieces {
  const unsigned short* row;
  unsigned got[4];
};
template <bool Turned>
static void read_pieces(void* const* all) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    FourPieces& to = *(FourPieces*)all[lane];
    for (unsigned piece = 0; piece < 4; ++piece) {
      unsigned pair = 0;
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned deep = lane % 4 * 2 + half;
        const unsigned row = Turned ? deep : lane / 4;
        const unsigned column = Turned ? lane / 4 : deep;
        const auto& from = *(const FourPieces*)all[piece * 8 + row];
        pair |= (unsigned)from.row[column] << 16 * half;
      }
      to.got[piece] = pair;
    }
  }
}
template <bool Turned>
static void read_in_warp(unsigned& a, unsigned& b, unsigned& c, unsigned& d,
                         unsigned address) {
  FourPieces mine = {(const unsigned short*)from_shared(address), {}};
  here->meet(here, 0xffffffffu, &mine, read_pieces<Turned>);
  a = mine.got[0];
  b = mine.got[1];
  c = mine.got[2];
  d = mine.got[3];
}
#define ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16 read_in_warp<false>
#define ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16 read_in_warp<true>

// Copies arrive when they are waited for, not before.
struct Copy {
  unsigned to;
  const void* from;
  int bytes;
};
static const int kMostCopies = 64;
static Copy copies[512][kMostCopies];
static int copies_of[512];
static inline void ptx_cp_async_cg_shared_global(unsigned to, const void* from,
                                                 int bytes) {
  const unsigned me = here->thread.x;
  if (copies_of[me] == kMostCopies) __builtin_trap();
  copies[me][copies_of[me]++] = {to, from, bytes};
}
static inline void ptx_cp_async_wait_all() {
  const unsigned me = here->thread.x;
  for (int i = 0; i < copies_of[me]; ++i) {
    char* const to = from_shared(copies[me][i].to);
    memset(to, 0, 16);
    memcpy(to, copies[me][i].from, (size_t)copies[me][i].bytes);
  }
  copies_of[me] = 0;
}
