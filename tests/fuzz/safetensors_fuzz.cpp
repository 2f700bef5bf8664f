#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/safetensors.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = io::SafetensorsFile::open(fuzz::file_of(bytes));
  if (!file) return 0;
  std::vector<std::byte> out;
  for (const auto& entry : file->entries()) {
    fuzz::require(
        entry.offset >= 8 && entry.bytes >= 0 &&
            entry.offset + entry.bytes <= static_cast<std::int64_t>(size),
        "a tensor is inside the file");
    fuzz::require(entry.shape.elements() * size_of(entry.dtype) == entry.bytes,
                  "a tensor has the bytes of its shape");
    fuzz::require(file->find(entry.name) != nullptr, "a tensor is found");
    out.resize(static_cast<std::size_t>(entry.bytes));
    fuzz::require(file->read(entry, out).ok(), "a tensor can be read");
  }
  return 0;
}
