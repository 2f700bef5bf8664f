#include "process.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "compare.h"

namespace example {
namespace {

// A line of /proc/self/status, in bytes.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) {
      return std::stoll(line.substr(key.size() + 1)) * 1024;
    }
  }
  throw std::runtime_error("/proc/self/status has no " + key);
}

}  // namespace

std::int64_t resident_bytes() { return status_bytes("VmRSS"); }
std::int64_t peak_bytes() { return status_bytes("VmHWM"); }

void run_self(const std::vector<std::string>& arguments,
              const std::function<void(const std::string& line)>& on_line) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));
  }
  words.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("there is no pipe to be had");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    throw std::runtime_error("no process can be started");
  }
  std::FILE* output = fdopen(ends[0], "r");
  std::string line;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    on_line(line);
    line.clear();
  }
  std::fclose(output);
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return;
  throw std::runtime_error(arguments.at(1) + (WIFEXITED(status)
                                                  ? " failed"
                                                  : " was killed by a signal"));
}

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error(name + " cannot be made");
  }
  path = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace example
