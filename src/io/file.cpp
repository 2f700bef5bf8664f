#include "io/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace plimsoll::io {
namespace {

// Linux moves at most this much in one call.
constexpr std::size_t kMostBytesPerCall = 0x7ffff000;

std::string reason(int number) { return std::strerror(number); }

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Descriptor::~Descriptor() { close(); }

bool Descriptor::close() noexcept {
  if (fd_ < 0) return true;
  return ::close(std::exchange(fd_, -1)) == 0;
}

Result<InputFile> InputFile::open(const std::string& path) {
  // Non-blocking, or opening a pipe would wait for its writer.
  Descriptor descriptor(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: cannot be opened: {}", path, reason(errno))};
  }
  struct stat facts {};
  if (::fstat(descriptor.get(), &facts) != 0) {
    return Error{ErrorCode::io,
                 fmt::format("{}: no size: {}", path, reason(errno))};
  }
  if (!S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: is not a regular file", path)};
  }
  InputFile file;
  file.path_ = path;
  file.descriptor_ = std::move(descriptor);
  file.size_bytes_ = facts.st_size;
  return file;
}

Status InputFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(descriptor_.get(), out.data(),
                std::min(out.size(), kMostBytesPerCall), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error{ErrorCode::io,
                   fmt::format("{}: reading {} bytes at offset {} failed: {}",
                               path_, out.size(), offset, reason(errno))};
    }
    if (got == 0) {
      return Error{ErrorCode::io,
                   fmt::format("{}: ends at offset {}, {} bytes short; it had "
                               "{} bytes when it was opened",
                               path_, offset, out.size(), size_bytes_)};
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return {};
}

void InputFile::drop_cache(std::int64_t offset,
                           std::int64_t bytes) const noexcept {
  // A length of 0 would mean the whole rest of the file.
  if (bytes <= 0) return;
  ::posix_fadvise(descriptor_.get(), offset, bytes, POSIX_FADV_DONTNEED);
}

ReplacedFile::ReplacedFile(std::string path, std::string beside,
                           Descriptor descriptor)
    : path_(std::move(path)),
      beside_(std::move(beside)),
      descriptor_(std::move(descriptor)) {}

ReplacedFile::ReplacedFile(ReplacedFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      descriptor_(std::move(other.descriptor_)) {}

ReplacedFile::~ReplacedFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

Result<ReplacedFile> ReplacedFile::create(const std::string& path) {
  // The process id keeps two writers of one path apart.
  std::string beside = fmt::format("{}.{}.part", path, ::getpid());
  Descriptor descriptor(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) {
    return Error{ErrorCode::io, fmt::format("{}: cannot be created: {}", beside,
                                            reason(errno))};
  }
  return ReplacedFile(path, std::move(beside), std::move(descriptor));
}

Error ReplacedFile::failed(const char* what) const {
  return {ErrorCode::io,
          fmt::format("{}: {} failed: {}", beside_, what, reason(errno))};
}

Status ReplacedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_.get(), bytes.data(),
                                std::min(bytes.size(), kMostBytesPerCall));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed("writing");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Status ReplacedFile::commit() {
  if (::fsync(descriptor_.get()) != 0) return failed("syncing");
  if (!descriptor_.close()) return failed("closing");
  if (::rename(beside_.c_str(), path_.c_str()) != 0) {
    return failed(fmt::format("renaming to {}", path_).c_str());
  }
  beside_.clear();
  // The new name itself is only safe once its folder is on disk. Some file
  // systems cannot sync folders; the data is safe there all the same.
  const auto slash = path_.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const Descriptor entry(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (entry.get() >= 0) ::fsync(entry.get());
  return {};
}

}  // namespace plimsoll::io
