// Tar archives read by position: headers here, members' bytes by the caller at
// their offsets. ustar, pax and GNU long names, and the old format. Archives
// are hostile: checksums and sizes are checked, errors name file and offset.
// Nothing is allocated after open() but the text of an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/file.h"

namespace plimsoll::io {

enum class TarType { file, folder, other };  // other: links, devices

struct TarMember {
  std::string_view name;  // valid until the reader moves on
  TarType type = TarType::file;
  std::int64_t offset = 0;      // of its bytes in the archive
  std::int64_t size_bytes = 0;  // 0 but for files; within the archive
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

class TarReader {
 public:
  static constexpr std::size_t kMostNameBytes = 4096;
  static constexpr std::size_t kMostExtensionBytes = 64;

  static Result<TarReader> open(const std::string& path);
  TarReader(TarReader&& other) noexcept;
  ~TarReader();

  const InputFile& file() const { return file_; }
  // Where the member or group begins that comes next: give it to seek() of
  // another reader to go on there.
  std::int64_t position() const { return position_; }
  void seek(std::int64_t position) { position_ = position; }

  // False at the end. Members come in the archive's order, all types.
  Result<bool> next(TarMember& member);
  // Files whose names have no such key are passed over, as are folders and
  // links.
  Result<bool> next_group(TarGroup& group);

 private:
  struct Buffers;

  explicit TarReader(InputFile file);
  Error bad(std::int64_t offset, const std::string& what) const;
  // Reads the block at `offset`; false when the archive ends there.
  Result<bool> read_header(std::int64_t offset);
  Status read_pax(std::int64_t offset, std::int64_t bytes);
  Status read_long_name(std::int64_t offset, std::int64_t bytes);
  Status take_header_name(std::int64_t offset);

  InputFile file_;
  std::unique_ptr<Buffers> buffers_;
  std::int64_t position_ = 0;
};

}  // namespace plimsoll::io
