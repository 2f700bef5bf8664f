#include <algorithm>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/npz.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = io::NpzFile::open(fuzz::file_of(bytes));
  if (!file) return 0;
  static std::vector<std::byte> memory(io::ZipStream::kMemoryBytes);
  std::vector<std::byte> slice(4096);
  for (int i = 0; i < static_cast<int>(file->arrays().size()); ++i) {
    const io::NpzArray& array = file->arrays()[static_cast<std::size_t>(i)];
    if (!array.deflated) {
      fuzz::require(array.data_offset >= 0 && array.data_bytes >= 0 &&
                        array.data_offset + array.data_bytes <=
                            static_cast<std::int64_t>(size),
                    "stored arrays are inside the file");
      const auto some = std::min<std::int64_t>(array.data_bytes, 4096);
      fuzz::require(
          file->read(i, 0,
                     std::span(slice).first(static_cast<std::size_t>(some)))
              .ok(),
          "stored arrays can be read");
    }
    auto stream = file->stream(i, memory);
    if (!stream) continue;
    std::int64_t left = std::min<std::int64_t>(array.data_bytes, 1 << 16);
    fuzz::require(stream->left_bytes() >= left, "the data is in the stream");
    while (left > 0) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(
          left, static_cast<std::int64_t>(slice.size())));
      if (!stream->read(std::span(slice).first(count))) break;
      left -= static_cast<std::int64_t>(count);
    }
  }
  return 0;
}
