#include "io/byte_reader.h"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace plimsoll::io {
namespace {

// Enough that calls do not count, little enough to stay in the cache.
constexpr std::int64_t kReadBytes = kMiB;
// The largest group of pages that the system keeps or drops as a whole.
constexpr std::int64_t kDropBytes = 2 * kMiB;
constexpr int kGzipOnly = 15 + 16;  // zlib's code: largest history, gzip
constexpr std::size_t kAlignment = 16;

bool begins_as_gzip(std::span<const unsigned char, 3> start) {
  return start[0] == 0x1f && start[1] == 0x8b && start[2] == 8;
}

// zlib's memory: taken from the front, given back all at once.
struct Pool {
  std::span<std::byte> left;

  void* take(std::size_t items, std::size_t size) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(items, size, &bytes) || bytes > left.size()) {
      return nullptr;
    }
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* const taken = left.data();
    left = left.subspan(std::min(bytes, left.size()));
    return taken;
  }
};

void* take_from_pool(void* pool, unsigned items, unsigned size) {
  return static_cast<Pool*>(pool)->take(items, size);
}

void leave_to_pool(void*, void*) {}

}  // namespace

// zlib's state points back at the stream, so both stay where they are when the
// reader moves.
struct ByteReader::Inflater {
  z_stream stream{};
  Pool pool;
  std::span<std::byte> input;
  bool in_member = true;
};

Error ByteReader::bad(const std::string& what) const {
  return {ErrorCode::bad_input, fmt::format("{}: {}", path(), what)};
}

Result<ByteReader> ByteReader::open(const std::string& path,
                                    std::span<std::byte> memory,
                                    const ByteReaderOptions& options) {
  PLIMSOLL_ASSIGN(InputFile file, InputFile::open(path));
  return open(std::move(file), memory, options);
}

Result<ByteReader> ByteReader::open(InputFile file, std::span<std::byte> memory,
                                    const ByteReaderOptions& options) {
  ByteReader reader(std::move(file), options.drop_behind);
  bool gzip = false;
  if (options.compression != Compression::none && reader.file_bytes() >= 3) {
    std::array<unsigned char, 3> start{};
    PLIMSOLL_RETURN_IF_ERROR(
        reader.file_.read_at(0, std::as_writable_bytes(std::span(start))));
    gzip = begins_as_gzip(start);
  }
  if (options.compression == Compression::gzip && !gzip) {
    return reader.bad("is not a gzip file: it does not begin with 1f 8b 08");
  }
  const std::int64_t least =
      byte_reader_bytes(1, gzip ? Compression::gzip : Compression::none);
  if (static_cast<std::int64_t>(memory.size()) < least) {
    return reader.bad(fmt::format("its reader needs {} bytes of memory, not {}",
                                  least, memory.size()));
  }
  reader.window_ = memory;
  if (gzip) PLIMSOLL_RETURN_IF_ERROR(reader.start_gzip(memory));
  return reader;
}

Status ByteReader::start_gzip(std::span<std::byte> memory) {
  static_assert(sizeof(Inflater) + 2 * alignof(std::max_align_t) <= kKiB);
  static_assert(alignof(Inflater) <= kAlignment);
  void* at = memory.data();
  std::size_t left = memory.size();
  std::align(kAlignment, sizeof(Inflater), at, left);
  inflater_ = new (at) Inflater;
  constexpr std::size_t kBehind =
      (sizeof(Inflater) + kAlignment - 1) / kAlignment * kAlignment;
  const std::span<std::byte> rest(static_cast<std::byte*>(at) + kBehind,
                                  left - kBehind);
  constexpr auto kPool = static_cast<std::size_t>(kInflateBytes);
  constexpr auto kInput = static_cast<std::size_t>(kGzipInputBytes);
  inflater_->pool.left = rest.first(kPool);
  inflater_->input = rest.subspan(kPool, kInput);
  window_ = rest.subspan(kPool + kInput);
  z_stream& stream = inflater_->stream;
  stream.zalloc = take_from_pool;
  stream.zfree = leave_to_pool;
  stream.opaque = &inflater_->pool;
  if (::inflateInit2(&stream, kGzipOnly) != Z_OK) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: this zlib ({}) needs more than {} bytes to "
                             "read gzip",
                             path(), ::zlibVersion(), kInflateBytes)};
  }
  return {};
}

Status ByteReader::fill_more(std::int64_t bytes) {
  bytes = std::min(bytes, window_bytes());
  // What is left is less than is asked for: a part of one record or line.
  std::memmove(window_.data(), window_.data() + begin_,
               static_cast<std::size_t>(end_ - begin_));
  end_ -= std::exchange(begin_, 0);
  while (end_ < bytes && !ended_) {
    const Status status =
        inflater_ != nullptr ? read_gzip(bytes) : read_plain(bytes);
    // What came before the error is good; the error comes again when it is
    // reached.
    if (!status && end_ < bytes) return status;
    drop_read_pages();
  }
  return {};
}

Status ByteReader::read_plain(std::int64_t bytes) {
  const std::int64_t space = window_bytes() - end_;
  const std::int64_t wanted =
      std::max(bytes - end_, std::min(space, kReadBytes));
  const std::int64_t size = std::min(wanted, file_bytes() - read_to_);
  PLIMSOLL_RETURN_IF_ERROR(
      file_.read_at(read_to_, window_.subspan(static_cast<std::size_t>(end_),
                                              static_cast<std::size_t>(size))));
  end_ += size;
  read_to_ += size;
  ended_ = read_to_ == file_bytes();
  return {};
}

Status ByteReader::read_gzip(std::int64_t bytes) {
  const std::int64_t stop =
      std::max(bytes, std::min(window_bytes(), end_ + kReadBytes));
  while (end_ < stop && !ended_) {
    PLIMSOLL_RETURN_IF_ERROR(refill_input());
    const bool no_input = inflater_->stream.avail_in == 0;
    if (no_input && !inflater_->in_member) {
      ended_ = true;
      return {};
    }
    // Also without input: zlib may hold bytes that found no room before.
    const std::int64_t before = end_;
    PLIMSOLL_RETURN_IF_ERROR(inflate_once());
    if (no_input && inflater_->in_member && end_ == before) {
      return bad(fmt::format(
          "is truncated: its gzip data goes on after the file's end at byte "
          "{}",
          file_bytes()));
    }
  }
  return {};
}

// Reads on where all input is used up and there is more.
Status ByteReader::refill_input() {
  z_stream& stream = inflater_->stream;
  const std::int64_t left = file_bytes() - read_to_;
  if (stream.avail_in > 0 || left == 0) return {};
  const auto part = inflater_->input.first(
      static_cast<std::size_t>(std::min(left, kGzipInputBytes)));
  PLIMSOLL_RETURN_IF_ERROR(file_.read_at(read_to_, part));
  read_to_ += static_cast<std::int64_t>(part.size());
  stream.next_in = reinterpret_cast<Bytef*>(part.data());
  stream.avail_in = static_cast<unsigned>(part.size());
  return {};
}

// Goes on by one call of inflate, or by what lies between two members.
Status ByteReader::inflate_once() {
  z_stream& stream = inflater_->stream;
  if (!inflater_->in_member) {
    // Tapes pad with zeros.
    while (stream.avail_in > 0 && *stream.next_in == 0) {
      ++stream.next_in;
      --stream.avail_in;
    }
    if (stream.avail_in == 0) return {};
    if (*stream.next_in != 0x1f) {
      return bad(fmt::format("has bytes from offset {} on that are no gzip",
                             read_to_ - stream.avail_in));
    }
    ::inflateReset(&stream);
    inflater_->in_member = true;
  }
  const std::int64_t space = std::min(window_bytes() - end_, kReadBytes);
  stream.next_out = reinterpret_cast<Bytef*>(window_.data() + end_);
  stream.avail_out = static_cast<unsigned>(space);
  const int code = ::inflate(&stream, Z_NO_FLUSH);
  end_ += space - static_cast<std::int64_t>(stream.avail_out);
  switch (code) {
    case Z_STREAM_END:
      inflater_->in_member = false;
      return {};
    case Z_OK:
    case Z_BUF_ERROR:  // it needs input: the caller refills
      return {};
    case Z_MEM_ERROR:
      return Error{ErrorCode::unsupported,
                   fmt::format("{}: this zlib ({}) needs more than {} bytes to "
                               "read gzip",
                               path(), ::zlibVersion(), kInflateBytes)};
    default:
      return bad(fmt::format(
          "has damaged gzip data before byte {} ({})",
          read_to_ - stream.avail_in,
          stream.msg != nullptr ? stream.msg : "it needs a dictionary"));
  }
}

void ByteReader::drop_read_pages() {
  if (!drop_behind_) return;
  // Whole steps: the system keeps pages in aligned groups, and a group of
  // which only a part is named stays.
  const std::int64_t to = read_to_ < file_bytes()
                              ? read_to_ / kDropBytes * kDropBytes
                              : round_up(read_to_, kDropBytes);
  if (to <= dropped_to_) return;
  file_.drop_cache(dropped_to_, to - dropped_to_);
  dropped_to_ = to;
}

void ByteReader::restart(std::int64_t offset) {
  begin_ = end_ = 0;
  position_ = read_to_ = offset;
  // Forward, what was read before the jump is dropped with what follows it.
  dropped_to_ = std::min(dropped_to_, offset / kDropBytes * kDropBytes);
  ended_ = offset == file_bytes();
  if (inflater_ != nullptr) {
    ended_ = false;
    inflater_->in_member = true;
    inflater_->stream.avail_in = 0;
    ::inflateReset(&inflater_->stream);
  }
}

Status ByteReader::seek(std::int64_t offset) {
  const bool behind = offset < position_;
  if (offset < 0 || (!is_gzip() && offset > file_bytes())) {
    return bad(
        fmt::format("has no offset {}: it has {} bytes", offset, file_bytes()));
  }
  if (!behind && offset - position_ <= available_bytes()) {
    consume(offset - position_);
    return {};
  }
  if (!is_gzip()) {
    restart(offset);
    return {};
  }
  if (behind) restart(0);
  while (position_ < offset) {
    PLIMSOLL_RETURN_IF_ERROR(fill(1));
    if (available_bytes() == 0) {
      return bad(fmt::format("has no offset {}: it has {} bytes decompressed",
                             offset, position_));
    }
    consume(std::min(offset - position_, available_bytes()));
  }
  return {};
}

}  // namespace plimsoll::io
