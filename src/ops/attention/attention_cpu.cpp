#include "ops/attention/attention_cpu.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "ops/attention/attention_kernel.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

// A worker's: the block at hand.
template <class C>
struct Rooms {
  Rooms(Room& room, const AttentionShape& shape)
      : q(room.take<C>(query_block(shape) * shape.width)),
        k(room.take<C>(key_block(shape) * shape.width)),
        scores(room.take<C>(query_block(shape) * key_block(shape))),
        y(room.take<C>(query_block(shape) * shape.width)),
        mask(room.take<C>(shape.mask ? query_block(shape) * key_block(shape)
                                     : 0)),
        top(room.take<C>(query_block(shape))),
        sum(room.take<C>(query_block(shape))),
        fade(room.take<C>(query_block(shape))) {}
  C* q;  // turned
  C* k;  // or v
  C* scores;
  C* y;
  C* mask;
  C* top;
  C* sum;
  C* fade;
};

std::int64_t room_bytes(const AttentionShape& shape, DType dtype) {
  Room room(nullptr);
  dtype == DType::f64 ? void(Rooms<double>(room, shape))
                      : void(Rooms<float>(room, shape));
  return room.bytes();
}

std::int64_t tasks_of(const AttentionShape& shape) {
  return shape.batch * shape.heads *
         blocks_of(shape.queries, query_block(shape));
}

template <class T>
class AttentionKernel final : public Kernel {
  using C = Computed<T>;

 public:
  AttentionKernel(const AttentionShape& shape, ComputeThreads& threads)
      : shape_(shape),
        loops_(loops_of<T>(attention_loops())),
        threads_(threads) {
    Room room(nullptr);
    Rooms<C>(room, shape);
    room_bytes_ = room.bytes();
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    for_tasks(
        threads_, tasks_of(shape_), args.scratch, room_bytes_,
        [&](std::int64_t task, void* scratch) { run(args, task, scratch); });
    return LaunchStatus::ok;
  }

 private:
  // Head by head, whose keys then stay in the cache; the last queries first:
  // where the mask is causal they see most.
  void run(const LaunchArgs& args, std::int64_t task, void* scratch) const {
    const std::int64_t blocks = blocks_of(shape_.queries, query_block(shape_));
    const std::int64_t head = task / blocks;
    const HeadRows queries =
        query_rows(shape_, head / shape_.heads, head % shape_.heads,
                   blocks - 1 - task % blocks);
    Room room(scratch);
    const Rooms<C> rooms(room, shape_);
    loops_.load_turned(norm_input<T>(args, 0) + at_queries(shape_, queries),
                       shape_.query_stride(), queries.count, shape_.width,
                       static_cast<C>(shape_.scale), rooms.q, queries.lanes);
    std::fill_n(rooms.top, queries.lanes, -std::numeric_limits<C>::infinity());
    std::fill_n(rooms.sum, queries.lanes, C(0));
    std::fill_n(rooms.y, queries.count * shape_.width, C(0));
    const std::int64_t end = shape_.keys_before(queries.first + queries.count);
    for (std::int64_t key = 0; key < end; key += key_block(shape_)) {
      see(args, queries,
          key_rows(shape_, queries.batch, queries.head / shape_.group(), key,
                   end),
          rooms);
    }
    finish(args, queries, rooms);
  }

  void see(const LaunchArgs& args, const HeadRows& queries,
           const HeadRows& keys, const Rooms<C>& rooms) const {
    const std::int64_t width = shape_.width;
    const std::int64_t lanes = queries.lanes;
    const std::int64_t at = at_keys(shape_, keys);
    multiply<C>(keys.count, lanes, width,
                first_factor(shape_, loops_, norm_input<T>(args, 1) + at,
                             keys.count, rooms.k),
                {rooms.q, lanes}, {rooms.scores, lanes}, false);
    hide_unseen(shape_, loops_, shape_.mask ? norm_input<T>(args, 3) : nullptr,
                queries, keys, rooms.scores, rooms.mask);
    loops_.soften(rooms.scores, keys.count, lanes, rooms.top, rooms.sum,
                  rooms.fade);
    loops_.fade_rows(rooms.y, rooms.fade, queries.count, width);
    loops_.load_rows(norm_input<T>(args, 2) + at, shape_.key_stride(),
                     keys.count, width, C(1), rooms.k);
    multiply<C>(queries.count, width, keys.count, {rooms.scores, 1, lanes},
                {rooms.k, width}, {rooms.y, width}, true);
  }

  void finish(const LaunchArgs& args, const HeadRows& queries,
              const Rooms<C>& rooms) const {
    C* lse = norm_output<C>(args, 1) + at_lse(shape_, queries);
    for (std::int64_t i = 0; i < queries.count; ++i) {
      const C sum = rooms.sum[i];
      lse[i] = sum == C(0) ? -std::numeric_limits<C>::infinity()
                           : rooms.top[i] + std::log(sum);
      rooms.fade[i] = sum == C(0) ? C(0) : C(1) / sum;
    }
    loops_.store_rows(rooms.y, rooms.fade, queries.count, shape_.width,
                      norm_output<T>(args, 0) + at_queries(shape_, queries),
                      shape_.query_stride());
  }

  AttentionShape shape_;
  const AttentionLoops<T>& loops_;
  ComputeThreads& threads_;
  std::int64_t room_bytes_ = 0;
};

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  const AttentionShape shape =
      attention_shape(query.inputs, kAttentionForward, *query.attrs);
  const std::int64_t tasks = tasks_of(shape);
  return std::vector{attention_candidate(
      query, "attention",
      workers(threads, tasks) * room_bytes(shape, query.inputs[0].dtype), tasks,
      1, threads)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const AttentionShape shape =
      attention_shape(query.inputs, kAttentionForward, *query.attrs);
  return with_stored(
      query.inputs[0].dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
        return std::make_unique<AttentionKernel<decltype(stored)>>(shape,
                                                                   threads);
      });
}

// One thread in f32, of what attention's products and exponentials reach.
double flops_per_second() {
  switch (best_isa()) {
    case Isa::v4:
      return 100e9;
    case Isa::v3:
      return 55e9;
    default:
      return 9e9;
  }
}

}  // namespace

KernelCandidate attention_candidate(const KernelQuery& query,
                                    std::string_view name,
                                    std::int64_t scratch_bytes,
                                    std::int64_t tasks, double work,
                                    const ComputeThreads& threads) {
  KernelCandidate candidate;
  candidate.name = fmt::format("{}:{}x{}:{}", name, kMostScoreLanes, kBlockKeys,
                               name_of(best_isa()));
  candidate.scratch_bytes = scratch_bytes;
  candidate.private_bytes = 512;
  const double flops =
      query.op->cost(query.inputs, query.outputs, *query.attrs).flops;
  const double slower = query.inputs[0].dtype == DType::f64 ? 2 : 1;
  const auto sharing =
      static_cast<double>(std::max<std::int64_t>(1, workers(threads, tasks)));
  candidate.seconds =
      1e-6 + flops * work * slower / flops_per_second() / sharing;
  return candidate;
}

std::span<const CpuKernels> attention_cpu_kernels() {
  static constexpr std::array<CpuKernels, 2> kernels = {{
      {"attention", candidates, create},
      {"attention_grad", attention_grad_candidates, create_attention_grad},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
