#include <vector>

#include "base/crc32c.h"
#include "fuzz/fuzz_input.h"
#include "io/byte_reader.h"

using namespace plimsoll;

namespace {

struct Outcome {
  std::int64_t bytes = 0;
  std::uint32_t crc = 0;
  bool good = false;
};

// Small files can stand for large ones: enough is enough.
constexpr std::int64_t kMostBytes = 64 * kKiB;

Outcome read_on(io::ByteReader& reader, std::int64_t step) {
  Outcome outcome;
  while (outcome.bytes < kMostBytes) {
    if (!reader.fill(step)) return outcome;
    const std::int64_t bytes = std::min(step, reader.available_bytes());
    if (bytes == 0) {
      fuzz::require(reader.ended(), "nothing is left at the end alone");
      break;
    }
    outcome.crc = crc32c(reader.peek().first(static_cast<std::size_t>(bytes)),
                         outcome.crc);
    outcome.bytes += bytes;
    const std::int64_t before = reader.position();
    reader.consume(bytes);
    fuzz::require(reader.position() == before + bytes,
                  "the position counts what is consumed");
  }
  outcome.good = true;
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  const std::int64_t window = 1 + (input.settings & 0x7f) * 32;
  static std::vector<std::byte> memory(
      static_cast<std::size_t>(io::byte_reader_bytes(1 + 0x7f * 32)));
  auto reader = io::ByteReader::open(
      fuzz::file_of(input.bytes),
      std::span(memory).first(
          static_cast<std::size_t>(io::byte_reader_bytes(window))));
  if (!reader) return 0;
  const std::int64_t step = 1 + window / 3;
  const Outcome first = read_on(*reader, step);
  if (!reader->seek(0)) return 0;
  const Outcome again = read_on(*reader, step);
  fuzz::require(first.good == again.good && first.bytes == again.bytes &&
                    first.crc == again.crc,
                "a second reading gives the same");
  if (first.good && first.bytes < kMostBytes) {
    fuzz::require(reader->seek(first.bytes / 2).ok(), "seeking back works");
    const Outcome half = read_on(*reader, step);
    fuzz::require(half.good && half.bytes == first.bytes - first.bytes / 2,
                  "the second half has the rest");
  }
  return 0;
}
