// The gradient of attention, in one of two ways that give the same bits.
//
// heads: a worker has all of a head of keys, and adds to dk and dv while it
// passes over the queries; scores are made once.
// blocks: first dq by blocks of queries, then dk and dv by blocks of keys;
// scores are made twice, but there is work for any number of threads.
#include <fmt/core.h>

#include "ops/attention/attention_kernel.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

constexpr AttentionForm kForm = kAttentionBackward;
constexpr std::string_view kHeads = "attention:heads";
constexpr std::string_view kBlocks = "attention:blocks";
// Of a worker's sums of dk and dv in f32, where these are bf16 or f16: more
// is left to blocks.
constexpr std::int64_t kMostSumBytes = 8 << 20;

bool sums_apart(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16;
}

// A worker's. Rows lie close together.
template <class C>
struct Rooms {
  Rooms(Room& room, const AttentionShape& shape, std::int64_t sum_rows) {
    const std::int64_t queries = query_block(shape);
    const std::int64_t keys = key_block(shape);
    for (C** rows : {&q, &q_turned, &dy, &dy_turned, &dq}) {
      *rows = room.take<C>(queries * shape.width);
    }
    for (C** rows : {&k, &v}) *rows = room.take<C>(keys * shape.width);
    for (C** rows : {&dk, &dv}) *rows = room.take<C>(sum_rows * shape.width);
    for (C** block : {&shares, &slopes}) *block = room.take<C>(queries * keys);
    mask = room.take<C>(shape.mask ? queries * keys : 0);
    for (C** each : {&lse, &level}) *each = room.take<C>(queries);
    factors = room.take<C>(std::max(queries, keys));
  }
  C* q;         // times the scale
  C* q_turned;  // likewise
  C* dy;
  C* dy_turned;
  C* dq;
  C* k;
  C* v;
  C* dk;
  C* dv;
  C* shares;
  C* slopes;
  C* mask;
  C* lse;
  C* level;
  C* factors;
};

struct GradPlan {
  AttentionShape shape;
  DType dtype = DType::f32;
  bool heads = false;

  std::int64_t groups() const { return shape.batch * shape.key_heads; }
  // Rows of dk and dv that a worker sums up by itself.
  std::int64_t sum_rows() const {
    if (!heads) return key_block(shape);
    return sums_apart(dtype) ? shape.keys : 0;
  }
  std::int64_t query_tasks() const {
    return shape.batch * shape.heads *
           blocks_of(shape.queries, query_block(shape));
  }
  std::int64_t key_tasks() const {
    return groups() * blocks_of(shape.keys, key_block(shape));
  }
  std::int64_t tasks() const {
    return heads ? groups() : std::max(query_tasks(), key_tasks());
  }
  std::int64_t room_bytes() const {
    Room room(nullptr);
    dtype == DType::f64 ? void(Rooms<double>(room, shape, sum_rows()))
                        : void(Rooms<float>(room, shape, sum_rows()));
    return room.bytes();
  }
};

GradPlan plan_of(const KernelQuery& query, bool heads) {
  return {attention_shape(query.inputs, kForm, *query.attrs),
          query.inputs[0].dtype, heads};
}

template <class T>
class AttentionGradKernel final : public Kernel {
  using C = Computed<T>;

 public:
  AttentionGradKernel(const GradPlan& plan, ComputeThreads& threads)
      : plan_(plan),
        loops_(loops_of<T>(attention_loops())),
        threads_(threads),
        room_bytes_(plan.room_bytes()) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    if (plan_.heads) {
      for_rooms(args, plan_.groups(), &AttentionGradKernel::head);
    } else {
      for_rooms(args, plan_.query_tasks(), &AttentionGradKernel::query_task);
      for_rooms(args, plan_.key_tasks(), &AttentionGradKernel::key_task);
    }
    return LaunchStatus::ok;
  }

 private:
  using Task = void (AttentionGradKernel::*)(const LaunchArgs&, std::int64_t,
                                             const Rooms<C>&) const;

  const AttentionShape& shape() const { return plan_.shape; }

  void for_rooms(const LaunchArgs& args, std::int64_t tasks,
                 Task run) const noexcept {
    for_tasks(threads_, tasks, args.scratch, room_bytes_,
              [&](std::int64_t task, void* scratch) {
                Room room(scratch);
                (this->*run)(args, task,
                             Rooms<C>(room, shape(), plan_.sum_rows()));
              });
  }

  void load_queries(const LaunchArgs& args, const HeadRows& queries,
                    const Rooms<C>& rooms) const {
    const std::int64_t at = at_queries(shape(), queries);
    const std::int64_t stride = shape().query_stride();
    const std::int64_t width = shape().width;
    const T* q = norm_input<T>(args, kForm.q) + at;
    const T* dy = norm_input<T>(args, kForm.dy) + at;
    const C scale = static_cast<C>(shape().scale);
    loops_.load_rows(q, stride, queries.count, width, scale, rooms.q);
    loops_.load_turned(q, stride, queries.count, width, scale, rooms.q_turned,
                       queries.lanes);
    loops_.load_rows(dy, stride, queries.count, width, C(1), rooms.dy);
    loops_.load_turned(dy, stride, queries.count, width, C(1), rooms.dy_turned,
                       queries.lanes);
    std::fill_n(rooms.level, queries.lanes, C(0));
    loops_.row_dots(dy, norm_input<T>(args, kForm.y) + at, stride,
                    queries.count, width, rooms.level);
    const C* lse = norm_input<C>(args, kForm.lse) + at_lse(shape(), queries);
    for (std::int64_t i = 0; i < queries.lanes; ++i) {
      // A query that sees nothing: its shares are 0 from any number.
      rooms.lse[i] =
          i < queries.count && lse[i] != -std::numeric_limits<C>::infinity()
              ? lse[i]
              : C(0);
    }
  }

  void load_keys(const LaunchArgs& args, const HeadRows& keys,
                 const Rooms<C>& rooms) const {
    const std::int64_t at = at_keys(shape(), keys);
    const std::int64_t stride = shape().key_stride();
    loops_.load_rows(norm_input<T>(args, kForm.k) + at, stride, keys.count,
                     shape().width, C(1), rooms.k);
    loops_.load_rows(norm_input<T>(args, kForm.v) + at, stride, keys.count,
                     shape().width, C(1), rooms.v);
  }

  // Shares of these queries in these keys, and the gradients of the scores.
  void compare(const LaunchArgs& args, const HeadRows& queries,
               const HeadRows& keys, const Rooms<C>& rooms) const {
    const std::int64_t width = shape().width;
    const std::int64_t lanes = queries.lanes;
    multiply<C>(keys.count, lanes, width, {rooms.k, width},
                {rooms.q_turned, lanes}, {rooms.shares, lanes}, false);
    hide_unseen(shape(), loops_,
                shape().mask ? norm_input<T>(args, kForm.mask) : nullptr,
                queries, keys, rooms.shares, rooms.mask);
    loops_.shares(rooms.shares, keys.count, lanes, rooms.lse);
    multiply<C>(keys.count, lanes, width, {rooms.v, width},
                {rooms.dy_turned, lanes}, {rooms.slopes, lanes}, false);
    loops_.slopes(rooms.shares, rooms.slopes, keys.count, lanes, rooms.level);
  }

  void add_to_dq(const HeadRows& queries, const HeadRows& keys,
                 const Rooms<C>& rooms) const {
    const std::int64_t width = shape().width;
    multiply<C>(queries.count, width, keys.count,
                {rooms.slopes, 1, queries.lanes}, {rooms.k, width},
                {rooms.dq, width}, true);
  }

  void add_to_dk_dv(const HeadRows& queries, const HeadRows& keys,
                    const Rooms<C>& rooms, const Matrix<C>& dk,
                    const Matrix<C>& dv) const {
    const std::int64_t width = shape().width;
    const std::int64_t lanes = queries.lanes;
    multiply<C>(keys.count, width, queries.count, {rooms.slopes, lanes},
                {rooms.q, width}, dk, true);
    multiply<C>(keys.count, width, queries.count, {rooms.shares, lanes},
                {rooms.dy, width}, dv, true);
  }

  void store(const C* rows, C factor, std::int64_t count, T* to,
             std::int64_t stride, const Rooms<C>& rooms) const {
    const std::int64_t step = query_block(shape());
    std::fill_n(rooms.factors, std::min(step, count), factor);
    for (std::int64_t row = 0; row < count; row += step) {
      loops_.store_rows(rows + row * shape().width, rooms.factors,
                        std::min(step, count - row), shape().width,
                        to + row * stride, stride);
    }
  }

  void store_dq(const LaunchArgs& args, const HeadRows& queries,
                const Rooms<C>& rooms) const {
    store(rooms.dq, static_cast<C>(shape().scale), queries.count,
          norm_output<T>(args, 0) + at_queries(shape(), queries),
          shape().query_stride(), rooms);
  }

  // Where a head's dk or dv is summed up, from its first row on: where it will
  // lie, or apart where that is too narrow.
  Matrix<C> sums_of(T* out, C* room) const {
    if constexpr (sizeof(T) < sizeof(C)) {
      std::fill_n(room, shape().keys * shape().width, C(0));
      return {room, shape().width};
    } else {
      for (std::int64_t j = 0; j < shape().keys; ++j) {
        std::fill_n(out + j * shape().key_stride(), shape().width, C(0));
      }
      return {out, shape().key_stride()};
    }
  }

  void head(const LaunchArgs& args, std::int64_t task,
            const Rooms<C>& rooms) const {
    const std::int64_t batch = task / shape().key_heads;
    const std::int64_t key_head = task % shape().key_heads;
    const std::int64_t start = at_keys(shape(), {batch, key_head});
    T* const dk_out = norm_output<T>(args, 1) + start;
    T* const dv_out = norm_output<T>(args, 2) + start;
    const Matrix<C> dk = sums_of(dk_out, rooms.dk);
    const Matrix<C> dv = sums_of(dv_out, rooms.dv);
    const std::int64_t blocks =
        blocks_of(shape().queries, query_block(shape()));
    for (std::int64_t i = 0; i < shape().group() * blocks; ++i) {
      const HeadRows queries = query_rows(
          shape(), batch, key_head * shape().group() + i / blocks, i % blocks);
      load_queries(args, queries, rooms);
      std::fill_n(rooms.dq, queries.count * shape().width, C(0));
      const std::int64_t end =
          shape().keys_before(queries.first + queries.count);
      for (std::int64_t j = 0; j < end; j += key_block(shape())) {
        const HeadRows keys = block_of_keys(batch, key_head, j);
        load_keys(args, keys, rooms);
        compare(args, queries, keys, rooms);
        add_to_dq(queries, keys, rooms);
        add_to_dk_dv(queries, keys, rooms, {dk.data + j * dk.row, dk.row},
                     {dv.data + j * dv.row, dv.row});
      }
      store_dq(args, queries, rooms);
    }
    if constexpr (sizeof(T) < sizeof(C)) {
      store(rooms.dk, C(1), shape().keys, dk_out, shape().key_stride(), rooms);
      store(rooms.dv, C(1), shape().keys, dv_out, shape().key_stride(), rooms);
    }
  }

  void query_task(const LaunchArgs& args, std::int64_t task,
                  const Rooms<C>& rooms) const {
    const std::int64_t blocks =
        blocks_of(shape().queries, query_block(shape()));
    const std::int64_t head = task / blocks;
    const HeadRows queries =
        query_rows(shape(), head / shape().heads, head % shape().heads,
                   blocks - 1 - task % blocks);
    load_queries(args, queries, rooms);
    std::fill_n(rooms.dq, queries.count * shape().width, C(0));
    const std::int64_t end = shape().keys_before(queries.first + queries.count);
    for (std::int64_t j = 0; j < end; j += key_block(shape())) {
      const HeadRows keys =
          block_of_keys(queries.batch, queries.head / shape().group(), j);
      load_keys(args, keys, rooms);
      compare(args, queries, keys, rooms);
      add_to_dq(queries, keys, rooms);
    }
    store_dq(args, queries, rooms);
  }

  // The first keys first: where the mask is causal most queries see them.
  void key_task(const LaunchArgs& args, std::int64_t task,
                const Rooms<C>& rooms) const {
    const std::int64_t blocks_of_keys =
        blocks_of(shape().keys, key_block(shape()));
    const std::int64_t batch = task / blocks_of_keys / shape().key_heads;
    const std::int64_t key_head = task / blocks_of_keys % shape().key_heads;
    const std::int64_t first = task % blocks_of_keys * key_block(shape());
    const HeadRows keys = block_of_keys(batch, key_head, first);
    load_keys(args, keys, rooms);
    const Matrix<C> dk{rooms.dk, shape().width};
    const Matrix<C> dv{rooms.dv, shape().width};
    std::fill_n(dk.data, keys.count * shape().width, C(0));
    std::fill_n(dv.data, keys.count * shape().width, C(0));
    const std::int64_t blocks =
        blocks_of(shape().queries, query_block(shape()));
    for (std::int64_t i = 0; i < shape().group() * blocks; ++i) {
      const HeadRows queries = query_rows(
          shape(), batch, key_head * shape().group() + i / blocks, i % blocks);
      if (shape().keys_before(queries.first + queries.count) <= first) continue;
      load_queries(args, queries, rooms);
      compare(args, queries, keys, rooms);
      add_to_dk_dv(queries, keys, rooms, dk, dv);
    }
    const std::int64_t at = at_keys(shape(), keys);
    store(dk.data, C(1), keys.count, norm_output<T>(args, 1) + at,
          shape().key_stride(), rooms);
    store(dv.data, C(1), keys.count, norm_output<T>(args, 2) + at,
          shape().key_stride(), rooms);
  }

  // Whole blocks, also where a causal mask ends within one: the same in both
  // ways.
  HeadRows block_of_keys(std::int64_t batch, std::int64_t key_head,
                         std::int64_t first) const {
    return key_rows(shape(), batch, key_head, first, shape().keys);
  }

  GradPlan plan_;
  const AttentionLoops<T>& loops_;
  ComputeThreads& threads_;
  std::int64_t room_bytes_ = 0;
};

}  // namespace

Result<std::vector<KernelCandidate>> attention_grad_candidates(
    const KernelQuery& query, ComputeThreads& threads) {
  std::vector<KernelCandidate> found;
  for (const bool heads : {true, false}) {
    const GradPlan plan = plan_of(query, heads);
    if (heads && sums_apart(plan.dtype) &&
        2 * plan.sum_rows() * plan.shape.width * 4 > kMostSumBytes) {
      continue;
    }
    found.push_back(
        attention_candidate(query, heads ? kHeads : kBlocks,
                            workers(threads, plan.tasks()) * plan.room_bytes(),
                            plan.tasks(), heads ? 1 : 1.5, threads));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const KernelCandidate& a, const KernelCandidate& b) {
                     return a.seconds < b.seconds;
                   });
  return found;
}

Result<std::unique_ptr<Kernel>> create_attention_grad(
    const KernelQuery& query, const KernelCandidate& candidate,
    ComputeThreads& threads) {
  const GradPlan plan = plan_of(query, candidate.name.starts_with(kHeads));
  return with_stored(plan.dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionGradKernel<decltype(stored)>>(plan,
                                                                   threads);
  });
}

}  // namespace plimsoll::ops
