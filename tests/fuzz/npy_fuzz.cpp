#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/npy.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = io::NpyFile::open(fuzz::file_of(bytes));
  if (!file) return 0;
  fuzz::require(
      file->data_bytes() >= 0 && file->data_offset() + file->data_bytes() <=
                                     static_cast<std::int64_t>(size),
      "the data is inside the file");
  std::vector<std::byte> out(static_cast<std::size_t>(file->data_bytes()));
  fuzz::require(file->read(0, out).ok(), "the data can be read");
  // What was understood can be written and is understood again.
  const auto preamble = io::npy_preamble(file->header());
  fuzz::require(preamble.ok(), "the header can be written");
  if (preamble->size() < 10) return 0;
  const auto again = io::parse_npy_header(preamble->substr(10), "again");
  fuzz::require(again.ok() && *again == file->header(),
                "the header that was written is the same");
  return 0;
}
