// How many threads of the pipeline live in this process. Others, such as a
// sanitizer's own, do not count.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace plimsoll::data {

inline int pipeline_threads() {
  int count = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "plimsoll-read";
  }
  return count;
}

}  // namespace plimsoll::data
