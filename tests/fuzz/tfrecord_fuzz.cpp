#include <array>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "fuzz/fuzz_input.h"
#include "io/tfrecord.h"

using namespace plimsoll;

namespace {

// Chance does not find checksums: they are put right, so that lengths are
// tried.
void mend(std::vector<std::byte>& bytes, bool data_too) {
  std::size_t at = 0;
  while (bytes.size() - at >= 16) {
    std::uint64_t length = 0;
    std::memcpy(&length, &bytes[at], 8);
    const std::span<const std::byte> all(bytes);
    const std::uint32_t crc = mask_crc(crc32c(all.subspan(at, 8)));
    std::memcpy(&bytes[at + 8], &crc, 4);
    if (length > bytes.size() - at - 16) return;
    if (data_too) {
      const std::uint32_t data_crc =
          mask_crc(crc32c(all.subspan(at + 12, length)));
      std::memcpy(&bytes[at + 12 + length], &data_crc, 4);
    }
    at += 16 + static_cast<std::size_t>(length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  std::vector<std::byte> file(input.bytes.begin(), input.bytes.end());
  if ((input.settings & 1) != 0) mend(file, (input.settings & 2) != 0);
  const bool gzip = (input.settings & 4) != 0;
  static std::vector<std::byte> memory(
      static_cast<std::size_t>(io::tfrecord_reader_bytes(4096)));
  const std::span<std::byte> window =
      gzip ? std::span(memory)
           : std::span(memory).first(16 + (input.settings >> 3) * 4);
  io::TfRecordOptions options;
  options.compression = gzip ? io::Compression::detect : io::Compression::none;
  options.verify_data = (input.settings & 2) != 0;
  const std::string& path = fuzz::file_of(file);
  auto reader = io::TfRecordReader::open(path, window, options);
  if (!reader) return 0;
  io::TfRecord record;
  std::int64_t records = 0;
  std::int64_t end = 0;
  bool errors = false;
  // Each turn passes a frame at least; gzip is let go on for a while only.
  for (int turn = 0; turn < 1000; ++turn) {
    const auto more = reader->next(record);
    if (!more) {
      errors = true;
      if (!reader->can_continue()) break;
      continue;
    }
    if (!*more) break;
    ++records;
    fuzz::require(fuzz::is_inside(record.bytes, window),
                  "a record is inside the window");
    fuzz::require(record.offset >= end, "records follow each other");
    end = record.offset + io::kTfRecordFrameBytes +
          static_cast<std::int64_t>(record.bytes.size());
    if (gzip) continue;
    fuzz::require(
        end <= static_cast<std::int64_t>(file.size()) &&
            (record.bytes.empty() ||
             std::memcmp(record.bytes.data(), file.data() + record.offset + 12,
                         record.bytes.size()) == 0),
        "a record has the file's bytes");
  }
  const auto scan = io::scan_tfrecords(path);
  if (!gzip && !errors) {
    fuzz::require(scan.ok() && scan->records == records,
                  "the scan counts what was read");
  }
  return 0;
}
