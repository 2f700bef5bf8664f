#include "data/reader_thread.h"

#include <fmt/core.h>
#include <pthread.h>

#include <csignal>
#include <cstring>
#include <memory>

namespace plimsoll::data {
namespace {

struct Start {
  void* (*body)(void*);
  void* context;
};

__attribute__((noinline)) void touch_stack() {
  constexpr auto kTouchedBytes =
      static_cast<std::size_t>(ReaderThread::kTouchedBytes);
  constexpr std::size_t kPageBytes = 4 * kKiB;
  char pages[kTouchedBytes];
  for (std::size_t i = 0; i < kTouchedBytes; i += kPageBytes) pages[i] = 0;
  // Somebody might look: the writes stay.
  asm volatile("" : : "r"(pages) : "memory");
}

void* touch_and_run(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  touch_stack();
  return start.body(start.context);
}

}  // namespace

Status ReaderThread::start(void* (*body)(void*), void* context) {
  constexpr std::size_t kStackBytes = 512 * kKiB;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // A new thread inherits the mask.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto given = std::make_unique<Start>(Start{body, context});
  const int failure =
      pthread_create(&thread_, &attributes, touch_and_run, given.get());
  if (failure == 0) static_cast<void>(given.release());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failure != 0) {
    return Error{ErrorCode::io,
                 fmt::format("no reader thread: {}", std::strerror(failure))};
  }
  pthread_setname_np(thread_, "plimsoll-read");
  running_ = true;
  return {};
}

void ReaderThread::join() noexcept {
  if (!running_) return;
  pthread_join(thread_, nullptr);
  running_ = false;
}

}  // namespace plimsoll::data
