// What the CPU's attention kernels share: blocks of queries and keys, products
// on them, and workers with scratch of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

#include "ops/attention/attention_loops.h"
#include "ops/attention/attention_shape.h"
#include "ops/matmul/small_gemm.h"
#include "ops/normalization/norm_kernel.h"

namespace plimsoll::ops {

// Keys that are treated at once; of queries it is kMostScoreLanes. Both are
// part of the numbers, and depend on nothing but the shape.
inline constexpr std::int64_t kBlockKeys = 64;

inline std::int64_t query_block(const AttentionShape& shape) {
  return std::min(kMostScoreLanes, round_up(shape.queries, kScoreLanes));
}
inline std::int64_t key_block(const AttentionShape& shape) {
  return std::min(kBlockKeys, shape.keys);
}
inline std::int64_t blocks_of(std::int64_t all, std::int64_t block) {
  return (all + block - 1) / block;
}

// Some queries of a head, or keys of a head of keys.
struct HeadRows {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t lanes = 0;  // of queries: what `count` is rounded up to
};

inline HeadRows query_rows(const AttentionShape& shape, std::int64_t batch,
                           std::int64_t head, std::int64_t block) {
  HeadRows rows{batch, head, block * query_block(shape)};
  rows.count = std::min(query_block(shape), shape.queries - rows.first);
  rows.lanes = round_up(rows.count, kScoreLanes);
  return rows;
}

// Up to the key `end`.
inline HeadRows key_rows(const AttentionShape& shape, std::int64_t batch,
                         std::int64_t head, std::int64_t first,
                         std::int64_t end) {
  return {batch, head, first, std::min(key_block(shape), end - first), 0};
}

// Where the rows begin, in q and what lies as q, or in k and v.
inline std::int64_t at_queries(const AttentionShape& shape,
                               const HeadRows& rows) {
  return ((rows.batch * shape.queries + rows.first) * shape.heads + rows.head) *
         shape.width;
}
inline std::int64_t at_keys(const AttentionShape& shape, const HeadRows& rows) {
  return ((rows.batch * shape.keys + rows.first) * shape.key_heads +
          rows.head) *
         shape.width;
}
inline std::int64_t at_lse(const AttentionShape& shape, const HeadRows& rows) {
  return (rows.batch * shape.heads + rows.head) * shape.queries + rows.first;
}

template <class C>
struct Matrix {
  C* data = nullptr;
  std::int64_t row = 0;     // elements from one row to the next
  std::int64_t column = 1;  // likewise of columns; 1 in all but a first factor
};

// to[m, n] (+)= a[m, k] b[k, n]
template <class C>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k,
              const Matrix<const C>& a, const Matrix<const C>& b,
              const Matrix<C>& to, bool accumulate) {
  GemmArgs<C> args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a.data;
  args.a_row = a.row;
  args.a_col = a.column;
  args.b = b.data;
  args.b_row = b.row;
  args.c = to.data;
  args.c_row = to.row;
  args.accumulate = accumulate;
  gemm_table<C>().direct(args);
}

// Rows of k or v as a first factor: as they lie, or widened into `room`.
template <class T>
Matrix<const Computed<T>> first_factor(const AttentionShape& shape,
                                       const AttentionLoops<T>& loops,
                                       const T* rows, std::int64_t count,
                                       Computed<T>* room) {
  if constexpr (sizeof(T) == sizeof(Computed<T>)) {
    return {rows, shape.key_stride()};
  } else {
    loops.load_rows(rows, shape.key_stride(), count, shape.width, 1, room);
    return {room, shape.width};
  }
}

// Scores of keys that a query does not see become -infinity. `room` holds a
// block of the mask.
template <class T>
void hide_unseen(const AttentionShape& shape, const AttentionLoops<T>& loops,
                 const T* mask, const HeadRows& queries, const HeadRows& keys,
                 Computed<T>* scores, Computed<T>* room) {
  using C = Computed<T>;
  constexpr C kUnseen = -std::numeric_limits<C>::infinity();
  const std::int64_t lanes = queries.lanes;
  if (shape.causal) {
    for (std::int64_t j = 0; j < keys.count; ++j) {
      const std::int64_t before =
          std::clamp<std::int64_t>(keys.first + j - queries.first, 0, lanes);
      std::fill_n(scores + j * lanes, before, kUnseen);
    }
  }
  if (!shape.mask) return;
  mask += queries.batch * shape.mask_batch + queries.head * shape.mask_head +
          queries.first * shape.mask_query + keys.first;
  if (shape.mask_query != 0) {
    loops.load_turned(mask, shape.mask_query, queries.count, keys.count, C(1),
                      room, lanes);
    loops.hide(scores, room, keys.count * lanes);
    return;
  }
  loops.load_rows(mask, 0, 1, keys.count, C(1), room);
  for (std::int64_t j = 0; j < keys.count; ++j) {
    if (room[j] == C(0)) std::fill_n(scores + j * lanes, lanes, kUnseen);
  }
}

// Calls run(task, room) for each task, on as many workers as there is scratch
// for: `room_bytes` each.
template <class Run>
void for_tasks(ComputeThreads& threads, std::int64_t tasks, void* scratch,
               std::int64_t room_bytes, const Run& run) noexcept {
  std::atomic<std::int64_t> next = 0;
  auto body = [&](std::int64_t worker) {
    void* room = static_cast<std::byte*>(scratch) + worker * room_bytes;
    for (std::int64_t task = next++; task < tasks; task = next++) {
      run(task, room);
    }
  };
  threads.for_each_chunk(std::min<std::int64_t>(tasks, threads.size()), body);
}

inline std::int64_t workers(const ComputeThreads& threads, std::int64_t tasks) {
  return std::min<std::int64_t>(threads.size(), tasks);
}

inline const AttentionTables& attention_loops() {
  static const AttentionTables best = pick_attention_tables();
  return best;
}

// Of a way that does `work` times what the definition counts, in so many tasks.
graph::KernelCandidate attention_candidate(const graph::KernelQuery& query,
                                           std::string_view name,
                                           std::int64_t scratch_bytes,
                                           std::int64_t tasks, double work,
                                           const ComputeThreads& threads);

Result<std::vector<graph::KernelCandidate>> attention_grad_candidates(
    const graph::KernelQuery& query, ComputeThreads& threads);
Result<std::unique_ptr<Kernel>> create_attention_grad(
    const graph::KernelQuery& query, const graph::KernelCandidate& candidate,
    ComputeThreads& threads);

}  // namespace plimsoll::ops
