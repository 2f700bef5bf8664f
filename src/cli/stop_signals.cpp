#include "cli/stop_signals.h"

#include <csignal>

namespace plimsoll::cli {
namespace {

// A handler reaches only what is global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void request_stop(int) { stop_requested.store(true); }

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // Under nohup a training outlives its terminal.
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = request_stop;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    if (signal == SIGINT) action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  return stop_requested;
}

}  // namespace plimsoll::cli
