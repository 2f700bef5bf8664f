#include "device/cpu/compute_threads.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace plimsoll {
namespace {

// oneTBB hands chunks over by atomics that the thread sanitizer does not see:
// it is told what they order.
void hands_over([[maybe_unused]] void* what) noexcept {
#ifdef __SANITIZE_THREAD__
  __tsan_release(what);
#endif
}
void takes_over([[maybe_unused]] void* what) noexcept {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(what);
#endif
}

// How long warm_up waits for a thread that the system does not start.
constexpr auto kWarmUpPatience = std::chrono::milliseconds(200);

// The depth of nested work differs from step to step: its pages are taken now
// rather than in the middle of a job.
void touch_stack() {
  volatile char depth[128 * 1024];
  for (std::size_t i = 0; i < sizeof(depth); i += 1024) depth[i] = 0;
}

// oneDNN deals out its work, with a message to each thread. A thread that the
// system has not run for some milliseconds has not read its messages, and each
// holds 256 bytes of its sender's until then. What may pile up is taken now.
void keep_spare_tasks() {
  constexpr int kSpareTasks = 256;
  std::atomic<bool> all_there{false};
  tbb::task_group tasks;
  for (int i = 0; i < kSpareTasks; ++i) {
    tasks.run([&all_there] {
      while (!all_there) std::this_thread::yield();
    });
  }
  all_there = true;
  tasks.wait();
}

}  // namespace

struct ComputeThreads::Impl {
  Impl(int threads, int pipeline_threads)
      : cap(tbb::global_control::max_allowed_parallelism,
            static_cast<std::size_t>(threads + pipeline_threads)),
        arena(threads, /*reserved_for_masters=*/1,
              tbb::task_arena::priority::high),
        size(threads) {
    arena.initialize();
  }

  tbb::global_control cap;
  tbb::task_arena arena;
  int size;
};

ComputeThreads::ComputeThreads(int threads, int pipeline_threads)
    : impl_(std::make_unique<Impl>(std::max(threads, 1),
                                   std::max(pipeline_threads, 0))) {}

ComputeThreads::~ComputeThreads() = default;

int ComputeThreads::size() const { return impl_->size; }

void ComputeThreads::enter(const std::function<void()>& work) {
  impl_->arena.execute(work);
}

void ComputeThreads::for_chunks(std::int64_t chunks, void* context,
                                Body body) noexcept {
  if (chunks <= 1 || impl_->size == 1) {
    for (std::int64_t i = 0; i < chunks; ++i) body(context, i);
    return;
  }
  const auto run = [context, body](std::int64_t i) {
    takes_over(context);
    body(context, i);
    hands_over(context);
  };
  hands_over(context);
  // Isolated: a thread that waits here takes no other work, so a body may use
  // its thread's scratch. Chunks are stolen and not dealt out: that costs the
  // same (1 us for two chunks on two threads) and leaves no messages behind,
  // see keep_spare_tasks().
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::int64_t{0}, chunks, run, tbb::simple_partitioner());
  });
  takes_over(context);
}

void ComputeThreads::warm_up() {
  // Each task waits until all have met, so that no thread can take two.
  std::atomic<int> arrived{0};
  const auto deadline = std::chrono::steady_clock::now() + kWarmUpPatience;
  auto meet = [&](std::int64_t) {
    touch_stack();
    keep_spare_tasks();
    ++arrived;
    while (arrived < impl_->size &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  };
  enter([&] { for_each_chunk(impl_->size, meet); });
}

}  // namespace plimsoll
