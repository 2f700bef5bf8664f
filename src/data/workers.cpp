#include "data/workers.h"

#include <fmt/core.h>

#include "data/spin_wait.h"

namespace plimsoll::data {

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
  if (!threads_.empty() && !quit_.load()) {
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
  wake_one(news_);
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

void Workers::work(const Thread& self) {
  for (;;) {
    const std::uint32_t seen = news_.load();
    // A stop() still runs all that was submitted: it is looked for after.
    const bool quit = quit_.load();
    Task task;
    if (take(task)) {
      task.run(task.owner, task.item, self.number);
      continue;
    }
    if (quit) return;
    wait_while(news_, seen);
  }
}

void Workers::stop() {
  if (quit_.exchange(true)) return;
  news_.fetch_add(1);
  wake_all(news_);
  for (auto& thread : threads_) thread->thread.join();
}

}  // namespace plimsoll::data
