// A folder that stands for "/" with planted files of /proc and /sys.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plimsoll {

class PlantedRoot {
 public:
  PlantedRoot() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~PlantedRoot() { std::filesystem::remove_all(folder_); }
  PlantedRoot(const PlantedRoot&) = delete;
  PlantedRoot& operator=(const PlantedRoot&) = delete;

  const std::string& path() const { return folder_; }

  void plant(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

 private:
  std::string folder_;
};

}  // namespace plimsoll
