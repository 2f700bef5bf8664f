// Files read by position and files written whole or not at all. Every error
// names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace plimsoll::io {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }
  // Closes; false with errno set if the system could not.
  bool close() noexcept;

 private:
  int fd_ = -1;
};

class InputFile {
 public:
  // Regular files only: a pipe would block, a folder has no bytes.
  static Result<InputFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::int64_t size_bytes() const { return size_bytes_; }  // when opened

  // Fills `out` from the byte `offset` on. Safe from several threads.
  Status read_at(std::int64_t offset, std::span<std::byte> out) const;

  // Lets the system forget these bytes: they were read and are not read again
  // soon. Advice only.
  void drop_cache(std::int64_t offset, std::int64_t bytes) const noexcept;

 private:
  std::string path_;
  Descriptor descriptor_;
  std::int64_t size_bytes_ = 0;
};

// Written beside its final name; commit() syncs it and puts it in place, and a
// reader sees the old file or the new one. Without commit() nothing remains.
class ReplacedFile {
 public:
  static Result<ReplacedFile> create(const std::string& path);
  ReplacedFile(ReplacedFile&& other) noexcept;
  ReplacedFile& operator=(ReplacedFile&&) = delete;
  ~ReplacedFile();

  Status write(std::span<const std::byte> bytes);
  Status commit();

 private:
  ReplacedFile(std::string path, std::string beside, Descriptor descriptor);
  Error failed(const char* what) const;

  std::string path_;
  std::string beside_;  // empty once committed
  Descriptor descriptor_;
};

}  // namespace plimsoll::io
