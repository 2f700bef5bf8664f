// Processes and their memory, from the system.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace example {

// Runs this program again with other arguments and hands on each line that it
// prints. Throws unless it ends with 0.
void run_self(const std::vector<std::string>& arguments,
              const std::function<void(const std::string& line)>& on_line);

struct TemporaryFolder {
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace example
