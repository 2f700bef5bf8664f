// Tar archives, plain or gzip, read from front to back through the caller's
// memory. ustar, pax and GNU long names, and the old format. Archives are
// hostile: checksums and sizes are checked, errors name file and offset.
// After open() nothing is allocated but the text of an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/byte_reader.h"

namespace plimsoll::io {

enum class TarType { file, folder, other };  // other: links, devices

struct TarMember {
  std::string_view name;  // valid until the reader moves on
  TarType type = TarType::file;
  std::int64_t offset = 0;      // of its bytes in the archive, decompressed
  std::int64_t size_bytes = 0;  // 0 but for files; of gzip files it is a claim
};

// One sample in the manner of WebDataset: the files, one after the other,
// whose names are the same up to the first dot of the last component.
inline constexpr int kMostGroupParts = 16;
struct TarPart {
  std::string_view extension;  // "jpg"; all behind the first dot
  std::int64_t offset = 0;
  std::int64_t size_bytes = 0;
};
struct TarGroup {
  std::string_view key;  // "train/000017"
  int count = 0;
  std::array<TarPart, kMostGroupParts> parts;
};

// Takes the bytes of a group's files as they are passed.
class TarTarget {
 public:
  // Where so many bytes go; null: they are not wanted.
  virtual std::byte* room_for(std::string_view extension,
                              std::int64_t size_bytes) = 0;

 protected:
  ~TarTarget() = default;
};

// The memory of a reader that reads about `window_bytes` (512 or more) at a
// time: few for headers alone, many where the files are read too.
inline constexpr std::int64_t kTarNamesBytes = 32 * kKiB;
constexpr std::int64_t tar_reader_bytes(
    std::int64_t window_bytes, Compression compression = Compression::detect) {
  return kTarNamesBytes + byte_reader_bytes(window_bytes, compression);
}

class TarReader {
 public:
  static constexpr std::size_t kMostNameBytes = 4096;
  static constexpr std::size_t kMostExtensionBytes = 64;

  // `memory` stays the caller's and outlives the reader.
  static Result<TarReader> open(const std::string& path,
                                std::span<std::byte> memory,
                                const ByteReaderOptions& options = {});

  const std::string& path() const { return reader_.path(); }
  bool is_gzip() const { return reader_.is_gzip(); }
  // Where the member or group begins that comes next: give it to seek() of
  // another reader to go on there.
  std::int64_t position() const {
    return waiting_ ? waiting_->begin : position_;
  }
  void seek(std::int64_t position);

  // False at the end. Members come in the archive's order, all types.
  Result<bool> next(TarMember& member);
  // The first bytes of the member that next() gave last.
  Status read(const TarMember& member, std::span<std::byte> out);
  // Files whose names have no such key are passed over, as are folders and
  // links. Without a target only headers are read.
  Result<bool> next_group(TarGroup& group, TarTarget* target = nullptr);

 private:
  struct Names;  // lives in the caller's memory
  struct Waiting {
    TarMember member;
    std::int64_t begin = 0;  // of its first header
  };

  TarReader(ByteReader reader, Names* names)
      : reader_(std::move(reader)), names_(names) {}
  Error bad(std::int64_t offset, const std::string& what) const;
  Result<bool> go_to(std::int64_t offset);
  Status read_at(std::int64_t offset, std::span<std::byte> out);
  // Reads the block at `offset`; false when the archive ends there.
  Result<bool> read_header(std::int64_t offset);
  Status read_pax(std::int64_t offset, std::int64_t bytes);
  Status read_long_name(std::int64_t offset, std::int64_t bytes);
  Status take_header_name(std::int64_t offset);
  Status add_part(const TarMember& member, std::int64_t begin, TarGroup& group,
                  TarTarget* target);

  ByteReader reader_;
  Names* names_;
  std::int64_t position_ = 0;
  std::int64_t data_end_ = 0;       // of the member before; then padding
  std::optional<Waiting> waiting_;  // of the next group, its header is read
};

}  // namespace plimsoll::io
