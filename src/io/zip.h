// The directory of a zip archive (zip64 included): stored and deflated
// entries. Archives are hostile: every size and offset is checked against the
// file's own before it is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/file.h"

namespace plimsoll::io {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc32 = 0;        // of the bytes as they come out
  std::int64_t stored_bytes = 0;  // in the file
  std::int64_t bytes = 0;         // as they come out
  std::int64_t data_offset = 0;   // of the stored bytes in the file
};

inline constexpr std::int64_t kMostZipEntries = 65'536;

// In the directory's order. Encrypted entries, other compressions and archives
// in several files are refused by name.
Result<std::vector<ZipEntry>> read_zip_directory(const InputFile& file);

}  // namespace plimsoll::io
