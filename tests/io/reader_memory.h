// Memory for readers, files of a test's own, and gzip.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_reader.h"

namespace plimsoll::io {

// Exactly as many bytes as asked for: the sanitizers watch both ends.
class ReaderMemory {
 public:
  explicit ReaderMemory(std::int64_t bytes)
      : memory_(static_cast<std::size_t>(bytes)) {}
  operator std::span<std::byte>() { return memory_; }

 private:
  std::vector<std::byte> memory_;
};

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// All that is left, taken `step` bytes at a time.
inline Result<std::string> read_all(ByteReader& reader, std::int64_t step) {
  std::string all;
  for (;;) {
    PLIMSOLL_RETURN_IF_ERROR(reader.fill(step));
    const std::int64_t bytes = std::min(step, reader.available_bytes());
    if (bytes == 0) return all;
    all += text_of(reader.peek().first(static_cast<std::size_t>(bytes)));
    reader.consume(bytes);
  }
}

}  // namespace plimsoll::io
