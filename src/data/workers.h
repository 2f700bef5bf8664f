// A few threads of our own that run tasks: fixed at the start, no allocation
// afterwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "data/reader_thread.h"

namespace plimsoll::data {

class Workers {
 public:
  struct Task {
    // `lane` tells which scratch is the task's own while it runs.
    void (*run)(void* owner, int item, int lane) = nullptr;
    void* owner = nullptr;
    int item = 0;
  };

  // 0 threads: every task runs in the caller.
  static Result<std::unique_ptr<Workers>> create(int threads,
                                                 int capacity = 256);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return static_cast<int>(threads_.size()); }
  // Each thread has a lane, and the last is for whoever calls submit().
  int lanes() const { return threads() + 1; }

  // Hands a task over; where nobody would take it soon (no thread, a full
  // ring, stopped) it runs before this returns.
  void submit(const Task& task);
  // Takes back the tasks of `owner` that no thread has begun: how many.
  int forget(const void* owner);

  // Runs what was submitted and ends the threads.
  void stop();

 private:
  struct alignas(64) Thread {
    Workers* workers = nullptr;
    int number = 0;
    ReaderThread thread;
  };

  explicit Workers(int capacity) : ring_(static_cast<std::size_t>(capacity)) {}
  void work(const Thread& self);
  bool take(Task& task);

  std::vector<std::unique_ptr<Thread>> threads_;
  std::mutex mutex_;  // over the ring and the two counts
  std::vector<Task> ring_;
  std::uint64_t pushed_ = 0;
  std::uint64_t popped_ = 0;
  std::atomic<std::uint32_t> news_{0};  // changes with every push
  std::atomic<bool> quit_{false};
};

}  // namespace plimsoll::data
