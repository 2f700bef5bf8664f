// A thread that runs one body, with a small stack (a large one may be backed
// by a huge page) and with signals left to the program's own threads.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "base/result.h"
#include "base/units.h"

namespace plimsoll::data {

class ReaderThread {
 public:
  // Of its stack, when it starts: a thread that gets its first work in a late
  // epoch must not grow then.
  static constexpr std::int64_t kTouchedBytes = 48 * kKiB;

  ReaderThread() = default;
  ~ReaderThread() { join(); }
  ReaderThread(const ReaderThread&) = delete;
  ReaderThread& operator=(const ReaderThread&) = delete;

  Status start(void* (*body)(void*), void* context);
  bool running() const { return running_; }
  void join() noexcept;

 private:
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace plimsoll::data
