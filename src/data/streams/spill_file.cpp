#include "data/streams/spill_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/units.h"

namespace plimsoll::data {

std::int64_t SpillFile::buffer_bytes(std::int64_t most_record_bytes) {
  return round_up(std::max(256 * kKiB, most_record_bytes), 64);
}

Error SpillFile::failed(const char* what) const {
  return {ErrorCode::io,
          fmt::format("cache: {} the file in {} failed at offset {}: {}", what,
                      folder_, flushed_, std::strerror(errno))};
}

Status SpillFile::create() {
  if (folder_.empty()) {
    return Error{ErrorCode::bad_input,
                 "cache: the elements do not fit into its memory: give it more "
                 "bytes, or a folder for the rest"};
  }
  int fd = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    // Not every file system has files without a name.
    std::string path = folder_ + "/plimsoll-cache-XXXXXX";
    fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd >= 0) ::unlink(path.c_str());
  }
  if (fd < 0) return failed("creating");
  descriptor_ = io::Descriptor(fd);
  return {};
}

Status SpillFile::clear() {
  flushed_ = buffered_ = begin_ = end_ = read_to_ = 0;
  if (descriptor_.get() >= 0 && ::ftruncate(descriptor_.get(), 0) != 0) {
    return failed("emptying");
  }
  return {};
}

Result<std::byte*> SpillFile::append(std::int64_t bytes) {
  if (descriptor_.get() < 0) PLIMSOLL_RETURN_IF_ERROR(create());
  const auto room = static_cast<std::int64_t>(buffer_.size());
  if (buffered_ + bytes > room) PLIMSOLL_RETURN_IF_ERROR(flush());
  if (bytes > room) {
    return Error{ErrorCode::internal,
                 fmt::format("cache: a record of {} bytes, {} were planned",
                             bytes, room)};
  }
  buffered_ += bytes;
  return buffer_.data() + buffered_ - bytes;
}

Status SpillFile::flush() {
  const int fd = descriptor_.get();
  const std::int64_t first = flushed_;
  std::int64_t done = 0;
  while (done < buffered_) {
    const ssize_t put =
        ::pwrite(fd, buffer_.data() + done,
                 static_cast<std::size_t>(buffered_ - done), first + done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed("writing");
    done += put;
  }
  flushed_ += done;
  buffered_ = 0;
#ifdef __linux__
  // Writing begins at once; pages of the part before are on disk by now and
  // can leave the system's cache.
  const auto part = static_cast<std::int64_t>(buffer_.size());
  ::sync_file_range(fd, first, done, SYNC_FILE_RANGE_WRITE);
  const std::int64_t before = std::max<std::int64_t>(0, first - part);
  if (first > 0) {
    ::sync_file_range(fd, before, first - before,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                          SYNC_FILE_RANGE_WAIT_AFTER);
    ::posix_fadvise(fd, before, first - before, POSIX_FADV_DONTNEED);
  }
#endif
  return {};
}

Status SpillFile::finish() {
  if (buffered_ > 0) PLIMSOLL_RETURN_IF_ERROR(flush());
  return {};
}

void SpillFile::rewind() { begin_ = end_ = read_to_ = 0; }

Result<std::span<const std::byte>> SpillFile::peek(std::int64_t bytes) {
  if (end_ - begin_ < bytes && read_to_ < flushed_) {
    // What is left goes to the front; records stay aligned, since their sizes
    // are multiples of the alignment.
    std::memmove(buffer_.data(), buffer_.data() + begin_,
                 static_cast<std::size_t>(end_ - begin_));
    end_ -= std::exchange(begin_, 0);
    const std::int64_t from = read_to_;
    while (end_ < static_cast<std::int64_t>(buffer_.size()) &&
           read_to_ < flushed_) {
      const std::int64_t wanted =
          std::min(static_cast<std::int64_t>(buffer_.size()) - end_,
                   flushed_ - read_to_);
      const ssize_t got = ::pread(descriptor_.get(), buffer_.data() + end_,
                                  static_cast<std::size_t>(wanted), read_to_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("reading");
      if (got == 0) {
        errno = ENODATA;
        return failed("reading");
      }
      end_ += got;
      read_to_ += got;
    }
    ::posix_fadvise(descriptor_.get(), from, read_to_ - from,
                    POSIX_FADV_DONTNEED);
  }
  return std::span<const std::byte>(buffer_.data() + begin_,
                                    static_cast<std::size_t>(end_ - begin_));
}

}  // namespace plimsoll::data
