#include "device/cpu/run_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace plimsoll {
namespace {

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t length = 0;
  while ((length = read(file, buffer.data(), buffer.size())) > 0 ||
         (length < 0 && errno == EINTR)) {
    if (length > 0) text.append(buffer.data(), std::size_t(length));
  }
  return text;
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& command) {
  // Apart from what is printed: warnings must not look like figures.
  const int complaints = memfd_create("complaints", MFD_CLOEXEC);
  std::array<int, 2> ends{};
  if (complaints < 0 || pipe2(ends.data(), O_CLOEXEC) != 0) {
    const int reason = errno;
    if (complaints >= 0) close(complaints);
    return Error{ErrorCode::io, std::string("pipe: ") + std::strerror(reason)};
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
  pid_t child = -1;
  const int failure = posix_spawn(&child, command[0].c_str(), &actions, nullptr,
                                  arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string text = failure == 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  int status = 0;
  while (failure == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  lseek(complaints, 0, SEEK_SET);
  std::string complaint = read_all(complaints);
  close(complaints);
  if (failure != 0) {
    return Error{ErrorCode::io,
                 fmt::format("{}: {}", command[0], std::strerror(failure))};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    complaint.resize(complaint.find_last_not_of('\n') + 1);
    return Error{
        ErrorCode::internal,
        fmt::format("{} {} failed (status {}): {}", command[0],
                    command.size() > 1 ? command[1] : "", status, complaint)};
  }
  return text;
}

}  // namespace plimsoll
