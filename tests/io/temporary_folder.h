// A folder of a test's own, removed with all it holds.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace plimsoll {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory where there is such a folder: many small files are quick.
    for (const std::string& parent :
         {std::string("/dev/shm"),
          std::filesystem::temp_directory_path().string()}) {
      std::string name = parent + "/plimsoll_test_XXXXXX";
      if (::mkdtemp(name.data()) == nullptr) continue;
      path_ = name;
      return;
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plimsoll
