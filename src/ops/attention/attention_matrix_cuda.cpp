#include "ops/attention/attention_matrix_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/attention/attention_warps_cuda.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

// 256 queries pass over their keys, 64 at a time while the next 64 come. The
// last queries come first: where the mask is causal they see most.
constexpr std::string_view kQueriesBegin =
    R"(  T* const room = (T*)shared_room();
  for (int task = block; task < $tasks; task += blocks) {
    const int batch = task % $all_heads / $heads;
    const int head = task % $all_heads % $heads;
    const int first = ($tiles - 1 - task / $all_heads) * 256;
    const int own = first + Warp::number() * 16;
    const int count = $queries - own;
    const int end = $end;
    const int own_end = $own_end;
    const i64 at = (((i64)batch * $queries + own) * $heads + head) * kWidth;
    const i64 key_at =
        ((i64)batch * $keys * $key_heads + head / $group) * kWidth;
    const int query0 = own + Warp::row();
    u32 q[kSteps][4];
    Warp::read_rows(q, in$q + at, $stride, count);
    f32 sums[2 * kSteps][4] = {};
)";
constexpr std::string_view kQueriesLoop =
    R"(    Rows::fetch(room, 64, in$k + key_at, $key_stride, end);
    Rows::fetch(room + 64 * kStep, 64, in$v + key_at, $key_stride, end);
    for (int key = 0; key < end; key += 64) {
      T* const k = room + key / 64 % 2 * (128 * kStep);
      T* const v = k + 64 * kStep;
      Rows::wait();
      if (key + 64 < end) {
        T* const to = room + (key / 64 + 1) % 2 * (128 * kStep);
        const i64 from = key_at + (i64)(key + 64) * $key_stride;
        Rows::fetch(to, 64, in$k + from, $key_stride, end - key - 64);
        Rows::fetch(to + 64 * kStep, 64, in$v + from, $key_stride,
                    end - key - 64);
      }
      if (key >= own_end) continue;
)";
constexpr std::string_view kTaskEnd = R"(    __syncthreads();
  }
)";

// Exponentials are powers of two; the scale is inside of the exponent.
constexpr std::string_view kForwardBegin =
    R"(    const f32 kPower = mul(kScale, 1.44269504f);
    f32 top0 = -infinity_of<f32>(), top1 = top0, sum0 = 0, sum1 = 0;
)";
constexpr std::string_view kForwardMiddle = R"(#pragma unroll 1
      for (int part = 0; part < 64; part += 32) {
      // Looked up first: while the sums are made there is no register left.
      u32 visible = 0;
#pragma unroll
      for (int c = 0; c < 16; ++c) {
        const int query = query0 + c % 4 / 2 * 8;
        const int at_key =
            key + part + c / 4 * 8 + Warp::column() + c % 2;
        if $seen visible |= 1u << c;
      }
      f32 s[2][2][4];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        Warp::dots(s[c], q, k + (part + c * 16) * kStep);
      }
      f32 most0 = top0, most1 = top1;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            s[c][n][i] =
                visible >> (c * 8 + n * 4 + i) & 1
                    ? mul(s[c][n][i], kPower)
                    : -infinity_of<f32>();
            if (i < 2) most0 = s[c][n][i] > most0 ? s[c][n][i] : most0;
            if (i >= 2) most1 = s[c][n][i] > most1 ? s[c][n][i] : most1;
          }
        }
      }
      most0 = Team<32>::join_in<Max>(most0, 2);
      most1 = Team<32>::join_in<Max>(most1, 2);
      // Nothing is seen yet: every exponential is 0 from any number.
      const f32 less0 = most0 == -infinity_of<f32>() ? 0.0f : most0;
      const f32 less1 = most1 == -infinity_of<f32>() ? 0.0f : most1;
      const f32 fade0 = Warp::power_of_two(sub(top0, less0));
      const f32 fade1 = Warp::power_of_two(sub(top1, less1));
      top0 = most0;
      top1 = most1;
      sum0 = mul(sum0, fade0);
      sum1 = mul(sum1, fade1);
#pragma unroll
      for (int n = 0; n < 2 * kSteps; ++n) {
        sums[n][0] = mul(sums[n][0], fade0);
        sums[n][1] = mul(sums[n][1], fade0);
        sums[n][2] = mul(sums[n][2], fade1);
        sums[n][3] = mul(sums[n][3], fade1);
      }
#pragma unroll
      for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            s[c][n][i] = Warp::power_of_two(sub(s[c][n][i], i < 2 ? less0 : less1));
          }
          sum0 = add(sum0, add(s[c][n][0], s[c][n][1]));
          sum1 = add(sum1, add(s[c][n][2], s[c][n][3]));
        }
        u32 p[4];
        Warp::left_of(p, s[c]);
        Warp::add_rows(sums, p, v + (part + c * 16) * kStep);
      }
      }
    }
)";
constexpr std::string_view kForwardFinish =
    R"(    sum0 = Team<32>::join_in<Sum>(sum0, 2);
    sum1 = Team<32>::join_in<Sum>(sum1, 2);
    if (Warp::lane() % 4 == 0) {
      f32* const lse = out1 + (i64)(batch * $heads + head) * $queries;
      if (query0 < $queries) {
        lse[query0] = sum0 == 0.0f
                          ? -infinity_of<f32>()
                          : mul_add(top0, 0.693147181f, log_of(sum0));
      }
      if (query0 + 8 < $queries) {
        lse[query0 + 8] = sum1 == 0.0f
                              ? -infinity_of<f32>()
                              : mul_add(top1, 0.693147181f, log_of(sum1));
      }
    }
    Warp::store_rows(sums, sum0 == 0.0f ? 0.0f : div(1.0f, sum0),
                     sum1 == 0.0f ? 0.0f : div(1.0f, sum1), out0 + at, $stride,
                     count);
)";

// The share of a score in its row, from the row's logarithm.
constexpr std::string_view kShares = R"(
  struct Shares {
    static DEVICE f32 less(const f32* lse, int query) {
      const f32 x = query < $queries ? lse[query] : 0.0f;
      return mul(x == -infinity_of<f32>() ? 0.0f : x, 1.44269504f);
    }
    static DEVICE f32 level(const f32* levels, int query) {
      return query < $queries ? levels[query] : 0.0f;
    }
  };
  const f32 kPower = mul(kScale, 1.44269504f);
)";

constexpr std::string_view kDqBegin =
    R"(    u32 dy[kSteps][4];
    Warp::read_rows(dy, in0 + at, $stride, count);
    const i64 line = (i64)(batch * $heads + head) * $queries;
    const f32 less0 = Shares::less(in5 + line, query0);
    const f32 less1 = Shares::less(in5 + line, query0 + 8);
    const f32 level0 = Shares::level((const f32*)scratch + line, query0);
    const f32 level1 = Shares::level((const f32*)scratch + line, query0 + 8);
)";
constexpr std::string_view kDqMiddle = R"(#pragma unroll 1
      for (int part = 0; part < 64; part += 16) {
        f32 s[2][4], slopes[2][4];
        Warp::dots(s, q, k + part * kStep);
        Warp::dots(slopes, dy, v + part * kStep);
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int query = query0 + i / 2 * 8;
            const int at_key = key + part + n * 8 + Warp::column() + i % 2;
            const f32 share =
                $seen ? Warp::power_of_two(
                            mul_add(s[n][i], kPower, i < 2 ? -less0 : -less1))
                      : 0.0f;
            s[n][i] = mul(share, sub(slopes[n][i], i < 2 ? level0 : level1));
          }
        }
        u32 p[4];
        Warp::left_of(p, s);
        Warp::add_rows(sums, p, k + part * kStep);
      }
    }
)";
constexpr std::string_view kDqFinish =
    R"(    Warp::store_rows(sums, kScale, kScale, out0 + at, $stride, count);
)";

// 128 keys, 16 a warp and each half of the warps, pass over the queries that
// see any of them: 32 at a time, 16 for each half, while the next 32 come. The
// halves' sums are joined at the end.
constexpr std::string_view kKeys =
    R"(  T* const values = (T*)shared_room();
  T* const room = values + 128 * kStep;
  const int half = Warp::number() / 8;
  const int line = Warp::number() % 8 * 16;
  for (int task = block; task < $tasks; task += blocks) {
    const int batch = task % $all_heads / $key_heads;
    const int key_head = task % $all_heads % $key_heads;
    const int key = task / $all_heads * 128;
    const int start = $start;
    const i64 at =
        (((i64)batch * $keys + key) * $key_heads + key_head) * kWidth;
    u32 k[kSteps][4];
    Warp::read_rows(k, in2 + at + (i64)line * $key_stride, $key_stride,
                    $keys - key - line);
    Rows::fetch(values, 128, in3 + at, $key_stride, $keys - key);
    f32 dk[2 * kSteps][4] = {}, dv[2 * kSteps][4] = {};
    const i64 head_at =
        ((i64)batch * $queries * $heads + key_head * $group) * kWidth;
    const int rounds = start < $queries ? ($queries - start + 31) / 32 : 0;
    // Rounds of all heads that share these keys, as one row of rounds.
    for (int round = -1; round < rounds * $group; ++round) {
      if (round >= 0) Rows::wait();
      if (round + 1 < rounds * $group) {
        const int first = start + (round + 1) % rounds * 32;
        const i64 from = head_at + (i64)((round + 1) / rounds) * kWidth +
                         (i64)first * $stride;
        T* const to = room + (round + 1) % 2 * (64 * kStep);
        Rows::fetch(to, 32, in1 + from, $stride, $queries - first);
        Rows::fetch(to + 32 * kStep, 32, in0 + from, $stride,
                    $queries - first);
      }
      if (round < 0) continue;
      const int first = start + round % rounds * 32 + half * 16;
      if ($unseen) continue;
      const int head = key_head * $group + round / rounds;
      const i64 row = (i64)(batch * $heads + head) * $queries;
      const f32* const lse = in5 + row;
      const f32* const levels = (const f32*)scratch + row;
      const T* const q = room + round % 2 * (64 * kStep) + half * 16 * kStep;
      const T* const dy = q + 32 * kStep;
      // Looked up first: while the sums are made there is no register left.
      u32 visible = 0;
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int query = first + n * 8 + Warp::column() + i % 2;
          const int at_key = key + line + Warp::row() + i / 2 * 8;
          if $seen visible |= 1u << (n * 4 + i);
        }
      }
      f32 s[2][4];
      Warp::dots(s, k, q);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int query = first + n * 8 + Warp::column() + i % 2;
          s[n][i] = visible >> (n * 4 + i) & 1 ? Warp::power_of_two(mul_add(
                              s[n][i], kPower, -Shares::less(lse, query)))
                          : 0.0f;
        }
      }
      u32 p[4];
      Warp::left_of(p, s);
      Warp::add_rows(dv, p, dy);
      f32 slopes[2][4] = {};
#pragma unroll
      for (int t = 0; t < kSteps; ++t) {
        u32 v[4], b[4];
        Warp::read(v, values + line * kStep + t * 16);
        Warp::read(b, dy + t * 16);
        Warp::multiply(slopes[0], v, b[0], b[2]);
        Warp::multiply(slopes[1], v, b[1], b[3]);
      }
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int query = first + n * 8 + Warp::column() + i % 2;
          s[n][i] =
              mul(s[n][i], sub(slopes[n][i], Shares::level(levels, query)));
        }
      }
      Warp::left_of(p, s);
      Warp::add_rows(dk, p, q);
    }
    Rows::wait();
    f32* const mine = (f32*)shared_room() + line * (kWidth) + Warp::lane();
#pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
      if (half == 1) {
#pragma unroll
        for (int n = 0; n < 2 * kSteps; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            mine[(n * 4 + i) * 32] = turn == 0 ? dk[n][i] : dv[n][i];
          }
        }
      }
      __syncthreads();
      if (half == 0) {
#pragma unroll
        for (int n = 0; n < 2 * kSteps; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            f32& sum = turn == 0 ? dk[n][i] : dv[n][i];
            sum = add(sum, mine[(n * 4 + i) * 32]);
          }
        }
      }
      __syncthreads();
    }
    if (half == 0) {
      // Made again: nothing of it takes registers in the loop above.
      int again = task;
      asm volatile("" : "+r"(again));
      const int last = again / $all_heads * 128 + line;
      const i64 own = (((i64)(again % $all_heads / $key_heads) * $keys + last) *
                           $key_heads +
                       again % $key_heads) *
                      kWidth;
      const int own_keys = $keys - last;
      Warp::store_rows(dk, kScale, kScale, out1 + own, $key_stride, own_keys);
      Warp::store_rows(dv, 1.0f, 1.0f, out2 + own, $key_stride, own_keys);
    }
  }
)";

constexpr std::int64_t kMostWidth = 64;

std::int64_t tiles(std::int64_t extent, std::int64_t tile) {
  return (extent + tile - 1) / tile;
}

struct Tasks {
  std::int64_t heads = 1;
  std::int64_t tiles = 1;
};

std::string filled(std::string_view body, DType dtype,
                   const AttentionShape& shape, const AttentionForm& form,
                   const Tasks& tasks, const std::string& seen) {
  const auto keys_before = [&](std::string_view query) {
    return shape.causal
               ? fmt::format("{0} < {1} ? {0} : {1}", query, shape.keys)
               : std::to_string(shape.keys);
  };
  return attention_warps_text(dtype, shape) +
         cuda_text(body,
                   {{"tasks", shape.batch * tasks.heads * tasks.tiles},
                    {"all_heads", shape.batch * tasks.heads},
                    {"tiles", tasks.tiles},
                    {"end", keys_before("first + 256")},
                    {"own_end", keys_before("own + 16")},
                    {"start", shape.causal ? "key" : "0"},
                    {"unseen", shape.causal ? "first + 15 < key + line" : "0"},
                    {"q", form.q},
                    {"k", form.k},
                    {"v", form.v},
                    {"queries", shape.queries},
                    {"keys", shape.keys},
                    {"heads", shape.heads},
                    {"key_heads", shape.key_heads},
                    {"group", shape.group()},
                    {"stride", shape.query_stride()},
                    {"key_stride", shape.key_stride()},
                    {"seen", seen}});
}

Tasks query_tasks(const AttentionShape& shape) {
  return {shape.heads, tiles(shape.queries, kMatrixQueries)};
}

}  // namespace

bool attention_fits_matrix_units(DType dtype, const AttentionShape& shape) {
  return (dtype == DType::bf16 || dtype == DType::f16) &&
         shape.width % 16 == 0 && shape.width <= kMostWidth &&
         shape.batch * shape.heads * std::max(shape.queries, shape.keys) <
             std::int64_t{1} << 31;  // tasks are counted in 32 bits
}

std::string attention_matrix_forward(DType dtype, const AttentionShape& shape,
                                     const std::string& seen) {
  return filled(
      fmt::format("{}{}{}{}{}{}", kQueriesBegin, kForwardBegin, kQueriesLoop,
                  kForwardMiddle, kForwardFinish, kTaskEnd),
      dtype, shape, kAttentionForward, query_tasks(shape), seen);
}

std::string attention_matrix_dq(DType dtype, const AttentionShape& shape,
                                const std::string& seen) {
  return filled(fmt::format("{}{}{}{}{}{}{}", kShares, kQueriesBegin, kDqBegin,
                            kQueriesLoop, kDqMiddle, kDqFinish, kTaskEnd),
                dtype, shape, kAttentionBackward, query_tasks(shape), seen);
}

std::string attention_matrix_dk_dv(DType dtype, const AttentionShape& shape,
                                   const std::string& seen) {
  return filled(fmt::format("{}{}", kShares, kKeys), dtype, shape,
                kAttentionBackward,
                {shape.key_heads, tiles(shape.keys, kMatrixKeys)}, seen);
}

}  // namespace plimsoll::ops
