#include "device/cpu/run_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace plimsoll {

Result<std::string> output_of(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::io, std::string("pipe: ") + std::strerror(errno)};
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int failure = posix_spawn(&child, command[0].c_str(), &actions, nullptr,
                                  arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (failure == 0) {
    std::array<char, 4096> buffer;
    ssize_t length = 0;
    while ((length = read(ends[0], buffer.data(), buffer.size())) > 0 ||
           (length < 0 && errno == EINTR)) {
      if (length > 0) text.append(buffer.data(), std::size_t(length));
    }
  }
  close(ends[0]);
  if (failure != 0) {
    return Error{ErrorCode::io,
                 fmt::format("{}: {}", command[0], std::strerror(failure))};
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{ErrorCode::internal,
                 fmt::format("{} {} failed (status {}): {}", command[0],
                             command.size() > 1 ? command[1] : "", status,
                             text.substr(0, text.find_last_not_of('\n') + 1))};
  }
  return text;
}

}  // namespace plimsoll
