#include "io/tfrecord.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "io/tfrecord_frame.h"

namespace plimsoll::io {
namespace {

constexpr auto kHeader = static_cast<std::size_t>(kTfRecordHeaderBytes);
// So that offsets never overflow; no file is larger.
constexpr std::uint64_t kMostLength = std::uint64_t{1} << 62;

std::string record_text(std::int64_t number, std::int64_t offset) {
  return fmt::format("record {} at offset {}", number, offset);
}

constexpr std::string_view kBadLength =
    "the checksum of its length is wrong, so that what follows cannot be "
    "found";

// The first bytes of a record can look like gzip; its checksum tells.
Result<Compression> tell_compression(const InputFile& file,
                                     Compression claimed) {
  if (claimed != Compression::detect || file.size_bytes() < 12) return claimed;
  std::array<std::byte, kHeader> header{};
  PLIMSOLL_RETURN_IF_ERROR(file.read_at(0, header));
  return read_tfrecord_header(header) ? Compression::none : claimed;
}

}  // namespace

Result<TfRecordReader> TfRecordReader::open(const std::string& path,
                                            std::span<std::byte> memory,
                                            const TfRecordOptions& options) {
  PLIMSOLL_ASSIGN(InputFile file, InputFile::open(path));
  PLIMSOLL_ASSIGN(const Compression compression,
                  tell_compression(file, options.compression));
  PLIMSOLL_ASSIGN(ByteReader reader,
                  ByteReader::open(std::move(file), memory,
                                   {compression, options.drop_behind}));
  if (reader.window_bytes() < kTfRecordFrameBytes) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: records need {} bytes of memory more", path,
                             kTfRecordFrameBytes - reader.window_bytes())};
  }
  return TfRecordReader(std::move(reader), options.verify_data);
}

Error TfRecordReader::bad(const std::string& what) const {
  return {ErrorCode::bad_input,
          fmt::format("{}: {}: {}", path(),
                      record_text(number_, reader_.position()), what)};
}

Result<bool> TfRecordReader::next(TfRecord& record) {
  can_continue_ = false;
  if (skip_to_ >= 0) {
    PLIMSOLL_RETURN_IF_ERROR(reader_.seek(skip_to_));
    skip_to_ = -1;
  }
  PLIMSOLL_RETURN_IF_ERROR(reader_.fill(kTfRecordHeaderBytes));
  if (reader_.available_bytes() < kTfRecordHeaderBytes) {
    if (reader_.available_bytes() == 0) {
      can_continue_ = true;
      return false;
    }
    return bad(
        fmt::format("is truncated: {} of {} bytes of its header are "
                    "there",
                    reader_.available_bytes(), kTfRecordHeaderBytes));
  }
  const auto length = read_tfrecord_header(reader_.peek().first(kHeader));
  if (!length) return bad(std::string(kBadLength));
  if (*length > kMostLength) {
    return bad(
        fmt::format("claims {} bytes: more than any file holds", *length));
  }
  const auto data_bytes = static_cast<std::int64_t>(*length);
  PLIMSOLL_RETURN_IF_ERROR(read_frame(data_bytes));
  record.bytes = reader_.peek().subspan(kHeader, *length);
  record.number = number_;
  record.offset = reader_.position();
  if (verify_data_) {
    const std::uint32_t stored =
        load_checksum(record.bytes.data() + record.bytes.size());
    const std::uint32_t found = mask_crc(crc32c(record.bytes));
    if (stored != found) {
      Error error = bad(fmt::format(
          "the checksum of its {} bytes is {:08x}, the file says {:08x}",
          data_bytes, found, stored));
      reader_.consume(kTfRecordFrameBytes + data_bytes);
      ++number_;
      can_continue_ = true;
      return error;
    }
  }
  reader_.consume(kTfRecordFrameBytes + data_bytes);
  ++number_;
  can_continue_ = true;
  return true;
}

// Puts a whole record into the window.
Status TfRecordReader::read_frame(std::int64_t data_bytes) {
  const std::int64_t whole = kTfRecordFrameBytes + data_bytes;
  const auto truncated = [&](std::int64_t there) {
    return bad(fmt::format(
        "is truncated: it claims {} bytes, and {} of {} with its frame are "
        "there",
        data_bytes, there, whole));
  };
  const std::int64_t in_file = reader_.file_bytes() - reader_.position();
  if (!reader_.is_gzip() && whole > in_file) return truncated(in_file);
  if (data_bytes > most_record_bytes()) return too_large(data_bytes);
  PLIMSOLL_RETURN_IF_ERROR(reader_.fill(whole));
  if (reader_.available_bytes() < whole) {
    return truncated(reader_.available_bytes());
  }
  return {};
}

Error TfRecordReader::too_large(std::int64_t data_bytes) {
  Error error =
      bad(fmt::format("has {} bytes; the buffer holds records of up to {}",
                      data_bytes, most_record_bytes()));
  skip_to_ = reader_.position() + kTfRecordFrameBytes + data_bytes;
  ++number_;
  can_continue_ = true;
  return error;
}

Status TfRecordReader::seek(std::int64_t offset, std::int64_t number) {
  PLIMSOLL_RETURN_IF_ERROR(reader_.seek(offset));
  number_ = number;
  skip_to_ = -1;
  return {};
}

Result<TfRecordScan> scan_tfrecords(const std::string& path) {
  PLIMSOLL_ASSIGN(const InputFile file, InputFile::open(path));
  const auto bad = [&](std::int64_t record, std::int64_t offset,
                       const std::string& what) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{}: {}: {}", path, record_text(record, offset), what)};
  };
  // Small records share one read.
  std::array<std::byte, 4096> part{};
  std::int64_t part_begin = 0;
  std::int64_t part_end = 0;
  TfRecordScan scan;
  std::int64_t at = 0;
  while (at < file.size_bytes()) {
    const std::int64_t left = file.size_bytes() - at;
    if (left < kTfRecordFrameBytes) {
      return bad(scan.records, at,
                 fmt::format("is truncated: only {} bytes are there", left));
    }
    if (at + kTfRecordHeaderBytes > part_end) {
      part_begin = at;
      part_end = at + std::min<std::int64_t>(left, part.size());
      PLIMSOLL_RETURN_IF_ERROR(file.read_at(
          at, std::span(part).first(
                  static_cast<std::size_t>(part_end - part_begin))));
    }
    const auto length = read_tfrecord_header(std::span(part).subspan(
        static_cast<std::size_t>(at - part_begin), kHeader));
    if (!length) {
      const bool gzip =
          at == 0 && part[0] == std::byte{0x1f} && part[1] == std::byte{0x8b};
      return bad(scan.records, at,
                 gzip ? "is gzip: to count its records it would have to be "
                        "inflated; store it plain, or give the size of the "
                        "largest record"
                      : std::string(kBadLength));
    }
    if (*length > static_cast<std::uint64_t>(left - kTfRecordFrameBytes)) {
      return bad(scan.records, at,
                 fmt::format("is truncated: it has {} bytes, the file {} more",
                             *length, left - kTfRecordFrameBytes));
    }
    const auto data_bytes = static_cast<std::int64_t>(*length);
    ++scan.records;
    scan.largest_record_bytes = std::max(scan.largest_record_bytes, data_bytes);
    at += kTfRecordFrameBytes + data_bytes;
  }
  return scan;
}

}  // namespace plimsoll::io
