#include "io/tfrecord_writer.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/tfrecord_frame.h"

namespace plimsoll::io {
namespace {

constexpr std::size_t kBufferBytes = 64 * kKiB;
constexpr int kGzipOnly = 15 + 16;  // zlib's code: largest history, gzip
constexpr int kDefaultMemory = 8;
// zlib counts in 32 bits.
constexpr std::size_t kMostPerCall = std::size_t{1} << 30;

}  // namespace

// What was written, gathered into writes of a good size.
struct TfRecordWriter::Output {
  explicit Output(ReplacedFile to) : file(std::move(to)) {}
  ~Output() {
    if (gzip) ::deflateEnd(&stream);
  }

  Status put(std::span<const std::byte> bytes) {
    if (gzip) return put_compressed(bytes);
    if (bytes.size() > buffer.size() - used) PLIMSOLL_RETURN_IF_ERROR(flush());
    if (bytes.size() > buffer.size()) return file.write(bytes);
    std::copy(bytes.begin(), bytes.end(),
              buffer.begin() + static_cast<std::ptrdiff_t>(used));
    used += bytes.size();
    return {};
  }

  Status put_compressed(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), kMostPerCall));
      bytes = bytes.subspan(part.size());
      // zlib reads through it but has no const for it.
      stream.next_in =
          const_cast<Bytef*>(reinterpret_cast<const Bytef*>(part.data()));
      stream.avail_in = static_cast<unsigned>(part.size());
      while (stream.avail_in > 0) PLIMSOLL_RETURN_IF_ERROR(deflate_once(false));
    }
    return {};
  }

  Status deflate_once(bool last) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data() + used);
    stream.avail_out = static_cast<unsigned>(buffer.size() - used);
    const int code = ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    used = buffer.size() - stream.avail_out;
    ended = code == Z_STREAM_END;
    return stream.avail_out == 0 ? flush() : Status();
  }

  Status flush() {
    return file.write(std::span(buffer).first(std::exchange(used, 0)));
  }

  ReplacedFile file;
  bool gzip = false;
  bool ended = false;
  z_stream stream{};
  std::size_t used = 0;
  std::array<std::byte, kBufferBytes> buffer;
};

TfRecordWriter::TfRecordWriter(std::unique_ptr<Output> output)
    : output_(std::move(output)) {}
TfRecordWriter::TfRecordWriter(TfRecordWriter&&) noexcept = default;
TfRecordWriter::~TfRecordWriter() = default;

Result<TfRecordWriter> TfRecordWriter::create(const std::string& path,
                                              Compression compression) {
  PLIMSOLL_ASSIGN(ReplacedFile file, ReplacedFile::create(path));
  auto output = std::make_unique<Output>(std::move(file));
  if (compression == Compression::gzip) {
    if (::deflateInit2(&output->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                       kGzipOnly, kDefaultMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      return Error{ErrorCode::io, fmt::format("{}: zlib ({}) cannot compress",
                                              path, ::zlibVersion())};
    }
    output->gzip = true;
  }
  return TfRecordWriter(std::move(output));
}

Status TfRecordWriter::write(std::span<const std::byte> record) {
  std::array<std::byte, kLengthBytes + kChecksumBytes> header{};
  const std::uint64_t length = record.size();
  std::memcpy(header.data(), &length, kLengthBytes);
  const std::uint32_t length_crc =
      mask_crc(crc32c(std::span(header).first(kLengthBytes)));
  std::memcpy(header.data() + kLengthBytes, &length_crc, kChecksumBytes);
  const std::uint32_t data_crc = mask_crc(crc32c(record));
  PLIMSOLL_RETURN_IF_ERROR(output_->put(header));
  PLIMSOLL_RETURN_IF_ERROR(output_->put(record));
  return output_->put(std::as_bytes(std::span(&data_crc, 1)));
}

Status TfRecordWriter::finish() {
  while (output_->gzip && !output_->ended) {
    PLIMSOLL_RETURN_IF_ERROR(output_->deflate_once(true));
  }
  PLIMSOLL_RETURN_IF_ERROR(output_->flush());
  return output_->file.commit();
}

}  // namespace plimsoll::io
