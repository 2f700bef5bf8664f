// By its settings an input's checksums are made right, so that what lies
// behind them is reached too.
#include <zlib.h>

#include <string>

#include "fuzz/image_fuzz.h"

using namespace plimsoll;

namespace {

void make_sums_right(std::string& bytes) {
  const auto number = [&](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    return value;
  };
  for (std::size_t at = 8; bytes.size() >= 12 && at <= bytes.size() - 12;) {
    const std::size_t length = number(at);
    if (length > bytes.size() - at - 12) return;
    const auto sum =
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()) + at + 4,
                static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
    }
    at += 12 + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  std::string bytes(reinterpret_cast<const char*>(input.bytes.data()),
                    input.bytes.size());
  if (input.settings & 64) make_sums_right(bytes);
  fuzz::decode(std::as_bytes(std::span(bytes)), input.settings);
  return 0;
}
