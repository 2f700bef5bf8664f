#include "data/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace plimsoll::data {
namespace {

using Clock = std::chrono::steady_clock;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t is) {
  // On one processor nobody else could make progress meanwhile.
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (!alone) {
    const auto until = Clock::now() + std::chrono::microseconds(10);
    do {
      for (int i = 0; i < 16; ++i) {
        if (value.load(std::memory_order_acquire) != is) return;
        pause_briefly();
      }
    } while (Clock::now() < until);
  }
  while (value.load(std::memory_order_acquire) == is) {
    value.wait(is, std::memory_order_acquire);
  }
}

Result<std::unique_ptr<Workers>> Workers::create(int threads, int capacity) {
  constexpr int kMost = 1024;
  if (threads < 0 || threads > kMost || capacity < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} pipeline threads with room for {} tasks: 0 to "
                             "{} threads and at least 1 task are right",
                             threads, capacity, kMost)};
  }
  std::unique_ptr<Workers> workers(new Workers(capacity));
  for (int i = 0; i < threads; ++i) {
    workers->threads_.push_back(std::make_unique<Thread>());
    workers->threads_.back()->workers = workers.get();
    workers->threads_.back()->number = i;
  }
  workers->active_.store(threads);
  const auto body = [](void* context) -> void* {
    auto& self = *static_cast<Thread*>(context);
    self.workers->work(self);
    return nullptr;
  };
  for (auto& thread : workers->threads_) {
    PLIMSOLL_RETURN_IF_ERROR(thread->thread.start(body, thread.get()));
  }
  return workers;
}

Workers::~Workers() { stop(); }

void Workers::submit(const Task& task) {
  bool queued = false;
  if (active_.load() > 0 && !quit_.load()) {
    const std::lock_guard lock(mutex_);
    if (pushed_ - popped_ < ring_.size()) {
      ring_[pushed_++ % ring_.size()] = task;
      queued = true;
    }
  }
  if (!queued) {
    task.run(task.owner, task.item, threads());
    return;
  }
  news_.fetch_add(1);
  news_.notify_one();
}

int Workers::forget(const void* owner) {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (std::uint64_t i = popped_; i < pushed_; ++i) {
    Task& task = ring_[i % ring_.size()];
    if (task.owner != owner || task.run == nullptr) continue;
    task = {};
    ++count;
  }
  return count;
}

bool Workers::take(Task& task) {
  const std::lock_guard lock(mutex_);
  while (popped_ < pushed_) {
    task = ring_[popped_++ % ring_.size()];
    if (task.run != nullptr) return true;  // else it was taken back
  }
  return false;
}

void Workers::work(Thread& self) {
  for (;;) {
    const std::uint32_t seen = news_.load();
    const int active = active_.load();
    // A stop() still runs all that was submitted.
    if (self.number >= active && !quit_.load()) {
      active_.wait(active);
      continue;
    }
    Task task;
    if (take(task)) {
      const auto begin = Clock::now();
      task.run(task.owner, task.item, self.number);
      const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(
          Clock::now() - begin);
      self.busy_ns.fetch_add(spent.count(), std::memory_order_relaxed);
      continue;
    }
    if (quit_.load()) return;
    wait_while(news_, seen);
  }
}

void Workers::wake_all() {
  // Sleepers of both kinds look again, or one that is no longer active could
  // swallow another's wake-up.
  active_.notify_all();
  news_.fetch_add(1);
  news_.notify_all();
}

void Workers::set_active(int threads) {
  if (quit_.load()) return;
  active_.store(std::clamp(threads, 0, this->threads()));
  wake_all();
}

std::int64_t Workers::busy_ns(int thread) const {
  return threads_[static_cast<std::size_t>(thread)]->busy_ns.load(
      std::memory_order_relaxed);
}

void Workers::stop() {
  if (quit_.exchange(true)) return;
  // Changes the value that idle threads wait on.
  active_.store(this->threads() + 1);
  wake_all();
  for (auto& thread : threads_) thread->thread.join();
}

}  // namespace plimsoll::data
