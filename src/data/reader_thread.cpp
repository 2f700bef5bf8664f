#include "data/reader_thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <cstring>

#include "base/units.h"

namespace plimsoll::data {

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
  const int failure = pthread_create(&thread_, &attributes, body, context);
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
