#include "io/zip.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace plimsoll::io {
namespace {

constexpr std::int64_t kEndBytes = 22;  // of the end record
constexpr std::int64_t kMostComment = 65'535;
constexpr std::int64_t kLocatorBytes = 20;  // zip64's, before the end record
constexpr std::int64_t kEnd64Bytes = 56;
constexpr std::int64_t kEntryBytes = 46;  // in the directory
constexpr std::int64_t kLocalBytes = 30;  // before the data
constexpr std::int64_t kMostDirectory = 16 * kMiB;
constexpr std::uint64_t kIn64 = 0xffffffff;  // see the zip64 field
// Deflate cannot make more than this of a byte.
constexpr std::uint64_t kMostInflation = 1032;

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) {
    out += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  return out;
}

// Little-endian numbers at any place of a record.
class Record {
 public:
  explicit Record(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t get(std::size_t at, std::size_t bytes) const {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    }
    return value;
  }
  std::uint64_t u16(std::size_t at) const { return get(at, 2); }
  std::uint64_t u32(std::size_t at) const { return get(at, 4); }
  std::uint64_t u64(std::size_t at) const { return get(at, 8); }

 private:
  std::string_view bytes_;
};

class DirectoryReader {
 public:
  explicit DirectoryReader(const InputFile& file) : file_(file) {}

  Result<std::vector<ZipEntry>> read() {
    PLIMSOLL_RETURN_IF_ERROR(find_end());
    PLIMSOLL_RETURN_IF_ERROR(check_directory());
    std::string directory(static_cast<std::size_t>(bytes_), '\0');
    PLIMSOLL_RETURN_IF_ERROR(
        file_.read_at(static_cast<std::int64_t>(offset_),
                      std::as_writable_bytes(std::span(directory))));
    std::vector<ZipEntry> entries;
    entries.reserve(static_cast<std::size_t>(count_));
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      PLIMSOLL_ASSIGN(ZipEntry entry, take_entry(directory, at));
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  Error bad(const std::string& what) const {
    return {ErrorCode::bad_input, fmt::format("{}: {}", file_.path(), what)};
  }
  Error refused(const std::string& what) const {
    return {ErrorCode::unsupported, fmt::format("{}: {}", file_.path(), what)};
  }
  Status find_end();
  Status find_end64(std::int64_t end);
  Status check_directory() const;
  Result<ZipEntry> take_entry(std::string_view directory, std::size_t& at);
  Status take_zip64(std::string_view extra, std::uint64_t& bytes,
                    std::uint64_t& stored, std::uint64_t& offset) const;
  Status find_data(ZipEntry& entry, std::uint64_t local_offset) const;

  const InputFile& file_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;   // of the directory
  std::uint64_t offset_ = 0;  // likewise
};

Status DirectoryReader::find_end() {
  const std::int64_t size = file_.size_bytes();
  if (size < kEndBytes) {
    return bad(fmt::format("has {} bytes: too short for a zip archive", size));
  }
  const std::int64_t tail = std::min(size, kEndBytes + kMostComment);
  std::string bytes(static_cast<std::size_t>(tail), '\0');
  PLIMSOLL_RETURN_IF_ERROR(
      file_.read_at(size - tail, std::as_writable_bytes(std::span(bytes))));
  for (auto at = static_cast<std::size_t>(tail - kEndBytes);; --at) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    const Record end(rest);
    // A comment may look like an end record, but not end with the file.
    if (rest.starts_with("PK\5\6") &&
        static_cast<std::size_t>(kEndBytes) + end.u16(20) == rest.size()) {
      if (end.u16(4) != 0 || end.u16(6) != 0) {
        return refused("is one of several files of a zip archive");
      }
      count_ = end.u16(10);
      bytes_ = end.u32(12);
      offset_ = end.u32(16);
      return find_end64(size - tail + static_cast<std::int64_t>(at));
    }
    if (at == 0) break;
  }
  return bad("is no zip archive, or is truncated: it has no end record");
}

Status DirectoryReader::find_end64(std::int64_t end) {
  if (end < kLocatorBytes) return {};
  std::array<char, kLocatorBytes> locator{};
  PLIMSOLL_RETURN_IF_ERROR(file_.read_at(
      end - kLocatorBytes, std::as_writable_bytes(std::span(locator))));
  const std::string_view text(locator.data(), locator.size());
  if (!text.starts_with("PK\6\7")) return {};
  const std::uint64_t at = Record(text).u64(8);
  if (at > static_cast<std::uint64_t>(end) ||
      static_cast<std::uint64_t>(end) - at <
          static_cast<std::uint64_t>(kEnd64Bytes)) {
    return bad(
        fmt::format("claims a zip64 end record at offset {}; the file "
                    "has {} bytes",
                    at, file_.size_bytes()));
  }
  std::array<char, kEnd64Bytes> record{};
  PLIMSOLL_RETURN_IF_ERROR(
      file_.read_at(static_cast<std::int64_t>(at),
                    std::as_writable_bytes(std::span(record))));
  const std::string_view bytes(record.data(), record.size());
  if (!bytes.starts_with("PK\6\6")) {
    return bad(fmt::format("has no zip64 end record at offset {}", at));
  }
  count_ = Record(bytes).u64(32);
  bytes_ = Record(bytes).u64(40);
  offset_ = Record(bytes).u64(48);
  return {};
}

Status DirectoryReader::check_directory() const {
  const auto size = static_cast<std::uint64_t>(file_.size_bytes());
  if (offset_ > size || bytes_ > size - offset_) {
    return bad(
        fmt::format("claims a zip directory of {} bytes at offset {}; "
                    "the file has {}",
                    bytes_, offset_, size));
  }
  if (bytes_ > static_cast<std::uint64_t>(kMostDirectory) ||
      count_ > static_cast<std::uint64_t>(kMostZipEntries) ||
      count_ > bytes_ / static_cast<std::uint64_t>(kEntryBytes)) {
    return bad(
        fmt::format("claims {} zip entries in a directory of {} bytes; "
                    "at most {} entries of at least {} bytes are read",
                    count_, bytes_, kMostZipEntries, kEntryBytes));
  }
  return {};
}

// In this order, each only where its field of 32 bits is full.
Status DirectoryReader::take_zip64(std::string_view extra, std::uint64_t& bytes,
                                   std::uint64_t& stored,
                                   std::uint64_t& offset) const {
  while (extra.size() >= 4) {
    const Record head(extra);
    const auto id = head.u16(0);
    const auto length = static_cast<std::size_t>(head.u16(2));
    extra.remove_prefix(4);
    if (length > extra.size()) break;
    if (id == 1) {
      std::size_t at = 0;
      for (std::uint64_t* field : {&bytes, &stored, &offset}) {
        if (*field != kIn64) continue;
        if (at + 8 > length) return bad("has a zip64 field cut short");
        *field = Record(extra).u64(at);
        at += 8;
      }
      return {};
    }
    extra.remove_prefix(length);
  }
  return {};
}

Result<ZipEntry> DirectoryReader::take_entry(std::string_view directory,
                                             std::size_t& at) {
  const std::string_view rest = directory.substr(at);
  const auto malformed = [&] {
    return bad(fmt::format("has no zip entry at offset {}", offset_ + at));
  };
  if (rest.size() < static_cast<std::size_t>(kEntryBytes) ||
      !rest.starts_with("PK\1\2")) {
    return malformed();
  }
  const Record record(rest);
  const auto name_bytes = static_cast<std::size_t>(record.u16(28));
  const auto extra_bytes = static_cast<std::size_t>(record.u16(30));
  const auto comment_bytes = static_cast<std::size_t>(record.u16(32));
  const std::size_t whole =
      kEntryBytes + name_bytes + extra_bytes + comment_bytes;
  if (whole > rest.size()) return malformed();
  at += whole;

  ZipEntry entry;
  entry.name = rest.substr(kEntryBytes, name_bytes);
  const std::string shown = printable(entry.name);
  if (record.u16(8) & 1) {
    return refused(fmt::format("the entry \"{}\" is encrypted", shown));
  }
  const auto method = record.u16(10);
  if (method != 0 && method != 8) {
    return refused(
        fmt::format("the entry \"{}\" is compressed by method {}; 0 "
                    "(stored) and 8 (deflated) can be read",
                    shown, method));
  }
  entry.deflated = method == 8;
  entry.crc32 = static_cast<std::uint32_t>(record.u32(16));
  std::uint64_t stored = record.u32(20);
  std::uint64_t bytes = record.u32(24);
  std::uint64_t offset = record.u32(42);
  PLIMSOLL_RETURN_IF_ERROR(
      take_zip64(rest.substr(kEntryBytes + name_bytes, extra_bytes), bytes,
                 stored, offset));
  const auto size = static_cast<std::uint64_t>(file_.size_bytes());
  if (stored > size || offset > size) {
    return bad(
        fmt::format("the entry \"{}\" claims {} bytes at offset {}; the "
                    "file has {}",
                    shown, stored, offset, size));
  }
  const bool possible =
      entry.deflated ? bytes / kMostInflation <= stored + 1 : bytes == stored;
  if (!possible) {
    return bad(fmt::format("the entry \"{}\" claims {} bytes out of {}", shown,
                           bytes, stored));
  }
  entry.stored_bytes = static_cast<std::int64_t>(stored);
  entry.bytes = static_cast<std::int64_t>(bytes);
  PLIMSOLL_RETURN_IF_ERROR(find_data(entry, offset));
  return entry;
}

// The local header has a name and extra fields of its own lengths.
Status DirectoryReader::find_data(ZipEntry& entry,
                                  std::uint64_t local_offset) const {
  const auto offset = static_cast<std::int64_t>(local_offset);
  const auto malformed = [&] {
    return bad(
        fmt::format("the entry \"{}\" has no local header and {} bytes "
                    "at offset {}",
                    printable(entry.name), entry.stored_bytes, offset));
  };
  if (file_.size_bytes() - offset < kLocalBytes) return malformed();
  std::array<char, kLocalBytes> local{};
  PLIMSOLL_RETURN_IF_ERROR(
      file_.read_at(offset, std::as_writable_bytes(std::span(local))));
  const std::string_view bytes(local.data(), local.size());
  if (!bytes.starts_with("PK\3\4")) return malformed();
  const Record record(bytes);
  entry.data_offset =
      offset + kLocalBytes +
      static_cast<std::int64_t>(record.u16(26) + record.u16(28));
  if (entry.stored_bytes > file_.size_bytes() - entry.data_offset) {
    return malformed();
  }
  return {};
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(const InputFile& file) {
  return DirectoryReader(file).read();
}

}  // namespace plimsoll::io
