// A file on a real disk, and how much of it the system holds in memory.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "io/file.h"

namespace plimsoll::io {

class CachedFile {
 public:
  // Not in memory, as other tests' files: there nothing can be dropped.
  CachedFile()
      : path_((std::filesystem::temp_directory_path() / "plimsoll_cache_XXXXXX")
                  .string()) {
    const int descriptor = ::mkstemp(path_.data());
    EXPECT_GE(descriptor, 0);
    ::close(descriptor);
  }
  ~CachedFile() { std::filesystem::remove(path_); }
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;

  const std::string& path() const { return path_; }

  // Written down to the disk: what is not yet cannot be dropped.
  std::int64_t write(const std::string& bytes) const {
    const int descriptor = ::open(path_.c_str(), O_WRONLY | O_TRUNC);
    EXPECT_EQ(::write(descriptor, bytes.data(), bytes.size()),
              std::ssize(bytes));
    EXPECT_EQ(::fsync(descriptor), 0);
    ::close(descriptor);
    return std::ssize(bytes);
  }
  void read_all() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  }

  std::int64_t cached_bytes() const {
    const auto size =
        static_cast<std::size_t>(std::filesystem::file_size(path_));
    const int file = ::open(path_.c_str(), O_RDONLY);
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(::mincore(at, size, pages.data()), 0);
    ::munmap(at, size);
    ::close(file);
    std::int64_t cached = 0;
    for (const unsigned char page : pages) cached += (page & 1) * 4096;
    return cached;
  }
  // Whether this file system lets go of pages; drops them all.
  bool can_drop() const {
    const auto size =
        static_cast<std::int64_t>(std::filesystem::file_size(path_));
    InputFile::open(path_)->drop_cache(0, size);
    return cached_bytes() < size / 2;
  }

 private:
  std::string path_;
};

}  // namespace plimsoll::io
