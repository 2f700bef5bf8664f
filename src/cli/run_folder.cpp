#include "cli/run_folder.h"

#include <fmt/core.h>

#include <filesystem>

namespace plimsoll::cli {

std::string choose_run_folder(const std::string& base,
                              const std::string& job_path, bool resume) {
  namespace fs = std::filesystem;
  const std::string stem = base + "/" + fs::path(job_path).stem().string();
  std::string taken = stem;
  std::string next = stem;
  std::error_code failure;
  for (int number = 2; fs::exists(next, failure); ++number) {
    taken = next;
    next = fmt::format("{}-{}", stem, number);
  }
  return resume ? taken : next;
}

}  // namespace plimsoll::cli
