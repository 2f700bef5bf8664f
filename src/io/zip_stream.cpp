#include "io/zip_stream.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "io/bump_memory.h"

namespace plimsoll::io {
namespace {

constexpr std::size_t kAheadBytes = 16 * 1024;

voidpf take(voidpf memory, uInt count, uInt bytes) {
  return static_cast<BumpMemory*>(memory)->take(std::size_t{count} * bytes);
}

void give_back(voidpf memory, voidpf piece) {
  static_cast<BumpMemory*>(memory)->give_back(piece);
}

}  // namespace

// What the stream keeps lies in the memory too, so that it may be moved.
Result<ZipStream> ZipStream::start(const InputFile& file, const ZipEntry& entry,
                                   std::span<std::byte> memory) {
  ZipStream stream;
  stream.file_ = &file;
  stream.next_offset_ = entry.data_offset;
  stream.stored_left_ = entry.stored_bytes;
  stream.left_bytes_ = entry.bytes;
  stream.expected_crc32_ = entry.crc32;
  if (!entry.deflated) return stream;

  BumpMemory whole(memory);
  void* bump_place = whole.take(sizeof(BumpMemory));
  void* zlib_place = whole.take(sizeof(z_stream));
  auto* ahead = static_cast<std::byte*>(whole.take(kAheadBytes));
  const Error too_small{
      ErrorCode::internal,
      fmt::format("{}: inflating takes {} bytes of memory; there are {}",
                  file.path(), kMemoryBytes, memory.size())};
  if (ahead == nullptr) return too_small;
  stream.ahead_ = {ahead, kAheadBytes};
  auto* bump = new (bump_place) BumpMemory(whole);
  auto* zlib = new (zlib_place) z_stream{};
  zlib->zalloc = take;
  zlib->zfree = give_back;
  zlib->opaque = bump;
  // Negative: no zlib header around the data.
  if (inflateInit2(zlib, -MAX_WBITS) != Z_OK) return too_small;
  stream.zlib_ = zlib;
  return stream;
}

Error ZipStream::bad(const char* what) const {
  return {ErrorCode::bad_input, fmt::format("{}: {}, before offset {}",
                                            file_->path(), what, next_offset_)};
}

Status ZipStream::refill() {
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(
      stored_left_, static_cast<std::int64_t>(ahead_.size())));
  if (count == 0) return bad("a deflated zip entry is truncated");
  PLIMSOLL_RETURN_IF_ERROR(file_->read_at(next_offset_, ahead_.first(count)));
  next_offset_ += static_cast<std::int64_t>(count);
  stored_left_ -= static_cast<std::int64_t>(count);
  zlib_->next_in = reinterpret_cast<Bytef*>(ahead_.data());
  zlib_->avail_in = static_cast<uInt>(count);
  return {};
}

Status ZipStream::inflate_into(std::span<std::byte> out) {
  zlib_->next_out = reinterpret_cast<Bytef*>(out.data());
  zlib_->avail_out = static_cast<uInt>(out.size());
  while (zlib_->avail_out > 0) {
    if (zlib_->avail_in == 0) PLIMSOLL_RETURN_IF_ERROR(refill());
    const int code = inflate(zlib_, Z_NO_FLUSH);
    if (code == Z_STREAM_END && zlib_->avail_out > 0) {
      return bad("a deflated zip entry is shorter than it claims");
    }
    if (code != Z_OK && code != Z_STREAM_END) {
      return bad("a deflated zip entry is corrupt");
    }
  }
  return {};
}

Status ZipStream::read(std::span<std::byte> out) {
  if (static_cast<std::int64_t>(out.size()) > left_bytes_) {
    return bad("a read goes past the end of a zip entry");
  }
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // uInt
  while (!out.empty()) {
    const auto slice = out.first(std::min(out.size(), kMostAtOnce));
    if (zlib_ != nullptr) {
      PLIMSOLL_RETURN_IF_ERROR(inflate_into(slice));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(file_->read_at(next_offset_, slice));
      next_offset_ += static_cast<std::int64_t>(slice.size());
    }
    crc32_ = static_cast<std::uint32_t>(
        ::crc32(crc32_, reinterpret_cast<const Bytef*>(slice.data()),
                static_cast<uInt>(slice.size())));
    left_bytes_ -= static_cast<std::int64_t>(slice.size());
    out = out.subspan(slice.size());
  }
  if (left_bytes_ == 0 && crc32_ != expected_crc32_) {
    return bad("the checksum of a zip entry is wrong: the archive is damaged");
  }
  return {};
}

}  // namespace plimsoll::io
