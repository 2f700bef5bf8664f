#include "device/cpu/child_process.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace plimsoll {
namespace {

constexpr int kPassedOn[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                             SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
constexpr int kNotFound = 127;
constexpr int kNotRunnable = 126;

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ChildProcess::ChildProcess() {
  sigemptyset(&ours_);
  for (const int signal : kPassedOn) sigaddset(&ours_, signal);
  sigaddset(&ours_, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  // Ignored by whoever started us, it would make ends vanish unseen.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, &child_action_before_);
  prctl(PR_GET_CHILD_SUBREAPER, &reaper_before_, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

ChildProcess::~ChildProcess() {
  prctl(PR_SET_CHILD_SUBREAPER, reaper_before_, 0, 0, 0);
  sigaction(SIGCHLD, &child_action_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int ChildProcess::start(const std::vector<std::string>& command,
                        std::string& why) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  inherited_rss_bytes_ = std::int64_t{usage.ru_maxrss} * 1024;

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before_);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failure = posix_spawnp(&pid_, arguments[0], nullptr, &attributes,
                                   arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure == 0) return 0;
  why = std::strerror(failure);
  return failure == ENOENT ? kNotFound : kNotRunnable;
}

std::optional<ChildEnd> ChildProcess::wait_for(
    std::chrono::nanoseconds patience) {
  if (auto end = reap()) return end;
  const timespec timeout = {static_cast<time_t>(patience.count() / 1000000000),
                            static_cast<long>(patience.count() % 1000000000)};
  siginfo_t info{};
  const int signal = sigtimedwait(&ours_, &info, &timeout);
  if (signal > 0 && signal != SIGCHLD) {
    // The terminal sends to the whole group: the command has it already.
    if (info.si_code != SI_KERNEL) kill(pid_, signal);
    return std::nullopt;
  }
  return reap();
}

// Also takes orphans of the command that ended as our children.
std::optional<ChildEnd> ChildProcess::reap() {
  while (true) {
    int status = 0;
    rusage usage{};
    const pid_t ended = wait4(-1, &status, WNOHANG, &usage);
    if (ended <= 0) return std::nullopt;
    if (ended == pid_) {
      return ChildEnd{exit_code_of(status),
                      std::int64_t{usage.ru_maxrss} * 1024};
    }
  }
}

}  // namespace plimsoll
