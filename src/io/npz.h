// NumPy's npz files: zip archives of npy files, stored (numpy.savez) or
// deflated (numpy.savez_compressed). Stored arrays are read by position like
// npy files, deflated ones from front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/npy.h"
#include "io/zip.h"
#include "io/zip_stream.h"

namespace plimsoll::io {

struct NpzArray {
  std::string name;  // without ".npy"
  NpyHeader header;
  bool deflated = false;
  std::int64_t data_offset = 0;  // stored: in the file; deflated: in the npy
  std::int64_t data_bytes = 0;
};

class NpzFile {
 public:
  // Entries that do not end in ".npy" are passed over.
  static Result<NpzFile> open(const std::string& path);

  const InputFile& file() const { return file_; }
  const std::vector<NpzArray>& arrays() const { return arrays_; }
  // The number of the array, or an error that lists those there are.
  Result<int> find(std::string_view name) const;

  // Fills `out` with a stored array's bytes from `offset` (within the data)
  // on. Safe from several threads; checks no checksum.
  Status read(int array, std::int64_t offset, std::span<std::byte> out) const;
  // Either kind, from the first byte on; the file outlives it.
  Result<ZipStream> stream(int array, std::span<std::byte> memory) const;

 private:
  explicit NpzFile(InputFile file) : file_(std::move(file)) {}
  Result<NpzArray> read_header(const ZipEntry& entry,
                               std::span<std::byte> memory) const;

  InputFile file_;
  std::vector<NpzArray> arrays_;
  std::vector<ZipEntry> entries_;  // of the arrays
};

struct NpzPart {
  std::string name;
  NpyHeader header;
  const void* data = nullptr;
};
// Stored, as numpy.savez does.
Status write_npz(const std::string& path, std::span<const NpzPart> parts);

}  // namespace plimsoll::io
