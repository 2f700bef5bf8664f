// npy files for tests of training, and a folder that goes with its test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plimsoll::train::testing {

class TestFolder {
 public:
  TestFolder()
      : path_(::testing::TempDir() + "plimsoll_train_" +
              std::to_string(getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// `columns` 0: one number an example, shape (rows,).
template <class T>
void write_npy(const std::string& path, const char* type, std::int64_t columns,
               const std::vector<T>& values) {
  const auto rows = static_cast<std::int64_t>(values.size()) /
                    std::max<std::int64_t>(columns, 1);
  std::string header = "{'descr': '" + std::string(type) +
                       "', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " +
                       (columns ? std::to_string(columns) : "") + "), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\0\x76\0", 10) << header;
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

}  // namespace plimsoll::train::testing
