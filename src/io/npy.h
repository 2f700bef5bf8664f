// NumPy's npy files, versions 1 to 3: fixed-size numbers, little-endian, in C
// order. Anything else is refused by name. Files are hostile: every size is
// checked against the file's own before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/result.h"
#include "base/shape.h"
#include "io/file.h"

namespace plimsoll::io {

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;  // fixed; its bytes are known not to overflow
  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

// Parses the header's dictionary; errors begin with `path`.
Result<NpyHeader> parse_npy_header(std::string_view dictionary,
                                   const std::string& path);

class NpyFile {
 public:
  static Result<NpyFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const NpyHeader& header() const { return header_; }
  std::int64_t data_offset() const { return data_offset_; }
  std::int64_t data_bytes() const;

  // Fills `out` with the array's bytes from `offset` (within the data) on.
  Status read(std::int64_t offset, std::span<std::byte> out) const;
  // Asks the system to forget the file's pages.
  void drop_cache() const noexcept { file_.drop_cache(0, file_.size_bytes()); }

 private:
  NpyFile(InputFile file, NpyHeader header, std::int64_t data_offset);

  InputFile file_;
  NpyHeader header_;
  std::int64_t data_offset_ = 0;
};

// The bytes before the data of a version 1 file.
Result<std::string> npy_preamble(const NpyHeader& header);
Status write_npy(const std::string& path, const NpyHeader& header,
                 const void* data);

}  // namespace plimsoll::io
