#include "ops/attention/attention_warps_cuda.h"

#include <fmt/core.h>

#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

// A warp multiplies pieces of 16 x 16 by 16 x 8 (mma.m16n8k16). Lane l of a
// result has rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next; of the
// left operand the same rows, and columns l % 4 * 2 and 8 further. So two
// neighbouring results, rounded, are a left operand as they are.
//
// Rows in shared memory are 16 bytes longer than they need: eight of them that
// are read together lie on different banks.
constexpr std::string_view kWarps = R"(  typedef $T T;
  const int kWidth = $width;
  const int kSteps = kWidth / 16;
  const int kStep = kWidth + 8;
  struct Warp {
    static DEVICE int lane() { return threadIdx.x % 32; }
    static DEVICE int number() { return threadIdx.x / 32; }
    static DEVICE int row() { return lane() / 4; }
    static DEVICE int column() { return lane() % 4 * 2; }
    static DEVICE u32 pair(f32 low, f32 high) {
      u32 both;
      asm("cvt.rn.$two.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
      return both;
    }
    static DEVICE void multiply(f32 (&sums)[4], const u32 (&a)[4], u32 b0,
                                u32 b1) {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.$T.$T.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
    static DEVICE u32 address(const T* at) {
      return (u32)__cvta_generic_to_shared(at);
    }
    // 16 x 16 elements of rows as a left operand; also two right ones (first
    // and second half) whose depth is along the rows' columns, with the middle
    // two changed.
    static DEVICE void read(u32 (&to)[4], const T* from) {
      asm volatile(
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
          : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
          : "r"(address(from + lane() % 16 * kStep + lane() / 16 * 8))
          : "memory");
    }
    // The same as two right operands whose depth is along the rows.
    static DEVICE void read_turned(u32 (&to)[4], const T* from) {
      asm volatile(
          "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, "
          "[%4];"
          : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
          : "r"(address(from + lane() % 16 * kStep + lane() / 16 * 8))
          : "memory");
    }
    static DEVICE f32 power_of_two(f32 x) {
      f32 power;
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
      return power;
    }
    // 16 rows of memory as left operands; rows that are not there are 0.
    static DEVICE void read_rows(u32 (&to)[kSteps][4], const T* from,
                                 i64 stride, int rows) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int r = row() + i % 2 * 8;
          const T* at = from + r * stride + s * 16 + i / 2 * 8 + column();
          to[s][i] = r < rows ? *(const u32*)at : 0u;
        }
      }
    }
    // sums (16 x 16) = left * rows of `right`, 16 of them.
    static DEVICE void dots(f32 (&sums)[2][4], const u32 (&left)[kSteps][4],
                            const T* right) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[0][i] = sums[1][i] = 0;
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        u32 b[4];
        read(b, right + s * 16);
        multiply(sums[0], left[s], b[0], b[2]);
        multiply(sums[1], left[s], b[1], b[3]);
      }
    }
    // sums (16 x width) += left (16 x 16) * 16 rows of `right`.
    static DEVICE void add_rows(f32 (&sums)[2 * kSteps][4], const u32 (&left)[4],
                                const T* right) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        u32 b[4];
        read_turned(b, right + s * 16);
        multiply(sums[2 * s], left, b[0], b[1]);
        multiply(sums[2 * s + 1], left, b[2], b[3]);
      }
    }
    static DEVICE void left_of(u32 (&to)[4], const f32 (&from)[2][4]) {
      to[0] = pair(from[0][0], from[0][1]);
      to[1] = pair(from[0][2], from[0][3]);
      to[2] = pair(from[1][0], from[1][1]);
      to[3] = pair(from[1][2], from[1][3]);
    }
    static DEVICE void store_rows(const f32 (&sums)[2 * kSteps][4], f32 upper,
                                  f32 lower, T* to, i64 stride, int rows) {
#pragma unroll
      for (int s = 0; s < 2 * kSteps; ++s) {
        T* at = to + row() * stride + s * 8 + column();
        if (row() < rows) {
          *(u32*)at = pair(mul(sums[s][0], upper), mul(sums[s][1], upper));
        }
        if (row() + 8 < rows) {
          *(u32*)(at + 8 * stride) =
              pair(mul(sums[s][2], lower), mul(sums[s][3], lower));
        }
      }
    }
  };
  struct Rows {
    // Rows into shared memory, beside other work, by all threads; those that
    // are not there become 0.
    static DEVICE void fetch(T* to, int all, const T* from, i64 stride,
                             int rows) {
#pragma unroll 1
      for (int e = threadIdx.x; e < all * (kWidth / 8); e += 512) {
        const int r = e / (kWidth / 8);
        const int c = e % (kWidth / 8) * 8;
        const bool there = r < rows;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                         Warp::address(to + r * kStep + c)),
                     "l"(from + (there ? r : 0) * stride + c),
                     "r"(there ? 16 : 0)
                     : "memory");
      }
    }
    // Until what all threads have fetched is there.
    static DEVICE void wait() {
      asm volatile("cp.async.wait_all;" ::: "memory");
      __syncthreads();
    }
  };
  const f32 kScale = $scale;
)";

}  // namespace

std::string attention_warps_text(DType dtype, const AttentionShape& shape) {
  return cuda_text(kWarps, {{"T", cuda_type(dtype)},
                            {"two", fmt::format("{}x2", cuda_type(dtype))},
                            {"width", shape.width},
                            {"scale", cuda_number(DType::f32, shape.scale)}});
}

}  // namespace plimsoll::ops
