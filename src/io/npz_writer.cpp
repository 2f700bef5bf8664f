#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "io/npz.h"

namespace plimsoll::io {
namespace {

constexpr std::uint64_t kIn64 = 0xffffffff;

class ZipText {
 public:
  void put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      text_ += static_cast<char>(value >> (8 * i) & 0xff);
    }
  }
  void put(std::string_view text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Written {
  std::string name;
  std::uint32_t crc32 = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;

  bool is_long() const { return bytes >= kIn64 || offset >= kIn64; }
};

std::uint32_t crc_of(std::uint32_t crc, const void* data, std::uint64_t bytes) {
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;
  const auto* at = static_cast<const Bytef*>(data);
  while (bytes > 0) {
    const std::uint64_t count = std::min(bytes, kMostAtOnce);
    crc =
        static_cast<std::uint32_t>(::crc32(crc, at, static_cast<uInt>(count)));
    at += count;
    bytes -= count;
  }
  return crc;
}

// Version, flags, method, time and date (1980-01-01), checksum, two sizes,
// length of the name: the same in both kinds of header.
void put_facts(ZipText& out, const Written& entry) {
  out.put(entry.is_long() ? 45 : 20, 2);
  out.put(0x0800, 2);  // the name is UTF-8
  out.put(0, 2);
  out.put(0, 2);
  out.put(0x21, 2);
  out.put(entry.crc32, 4);
  const std::uint64_t shown = entry.is_long() ? kIn64 : entry.bytes;
  out.put(shown, 4);
  out.put(shown, 4);
  out.put(entry.name.size(), 2);
}

std::string local_header(const Written& entry) {
  ZipText out;
  out.put("PK\3\4");
  put_facts(out, entry);
  out.put(entry.is_long() ? 20 : 0, 2);
  out.put(entry.name);
  if (entry.is_long()) {
    out.put(1, 2);
    out.put(16, 2);
    out.put(entry.bytes, 8);
    out.put(entry.bytes, 8);
  }
  return out.text();
}

std::string directory_entry(const Written& entry) {
  ZipText out;
  out.put("PK\1\2");
  out.put(entry.is_long() ? 45 : 20, 2);
  put_facts(out, entry);
  out.put(entry.is_long() ? 28 : 0, 2);
  out.put(0, 2);           // comment
  out.put(0, 2);           // disk
  out.put(0, 2);           // attributes
  out.put(0x81a40000, 4);  // a regular file, rw-r--r--
  out.put(entry.is_long() ? kIn64 : entry.offset, 4);
  out.put(entry.name);
  if (entry.is_long()) {
    out.put(1, 2);
    out.put(24, 2);
    out.put(entry.bytes, 8);
    out.put(entry.bytes, 8);
    out.put(entry.offset, 8);
  }
  return out.text();
}

std::string end_records(std::uint64_t count, std::uint64_t bytes,
                        std::uint64_t offset) {
  ZipText out;
  const bool is_long = offset >= kIn64 || bytes >= kIn64 || count >= 0xffff;
  if (is_long) {
    out.put("PK\6\6");
    out.put(44, 8);
    out.put(45, 2);
    out.put(45, 2);
    out.put(0, 8);  // disks
    out.put(count, 8);
    out.put(count, 8);
    out.put(bytes, 8);
    out.put(offset, 8);
    out.put("PK\6\7");
    out.put(0, 4);
    out.put(offset + bytes, 8);
    out.put(1, 4);
  }
  out.put("PK\5\6");
  out.put(0, 4);
  out.put(std::min<std::uint64_t>(count, 0xffff), 2);
  out.put(std::min<std::uint64_t>(count, 0xffff), 2);
  out.put(std::min(bytes, kIn64), 4);
  out.put(std::min(offset, kIn64), 4);
  out.put(0, 2);
  return out.text();
}

Status write_text(ReplacedFile& file, std::uint64_t& offset,
                  std::string_view text) {
  offset += text.size();
  return file.write(std::as_bytes(std::span(text)));
}

}  // namespace

Status write_npz(const std::string& path, std::span<const NpzPart> parts) {
  PLIMSOLL_ASSIGN(ReplacedFile file, ReplacedFile::create(path));
  std::string directory;
  std::uint64_t offset = 0;
  for (const NpzPart& part : parts) {
    const auto bad = [&](std::string_view what) {
      return Error{ErrorCode::bad_input, fmt::format("{}: the array \"{}\" {}",
                                                     path, part.name, what)};
    };
    if (part.name.empty() || part.name.size() > 1000) {
      return bad("needs a name of 1 to 1000 bytes");
    }
    if (std::count_if(parts.begin(), parts.end(), [&](const NpzPart& other) {
          return other.name == part.name;
        }) > 1) {
      return bad("is there twice");
    }
    PLIMSOLL_ASSIGN(const std::string preamble, npy_preamble(part.header));
    PLIMSOLL_ASSIGN(const std::int64_t count,
                    part.header.shape.checked_elements(1));
    const auto data_bytes =
        static_cast<std::uint64_t>(count * size_of(part.header.dtype));
    Written entry{part.name + ".npy",
                  crc_of(0, preamble.data(), preamble.size()),
                  preamble.size() + data_bytes, offset};
    entry.crc32 = crc_of(entry.crc32, part.data, data_bytes);
    PLIMSOLL_RETURN_IF_ERROR(write_text(file, offset, local_header(entry)));
    PLIMSOLL_RETURN_IF_ERROR(write_text(file, offset, preamble));
    PLIMSOLL_RETURN_IF_ERROR(
        write_text(file, offset,
                   {static_cast<const char*>(part.data),
                    static_cast<std::size_t>(data_bytes)}));
    directory += directory_entry(entry);
  }
  const std::uint64_t directory_offset = offset;
  PLIMSOLL_RETURN_IF_ERROR(write_text(file, offset, directory));
  PLIMSOLL_RETURN_IF_ERROR(write_text(
      file, offset,
      end_records(parts.size(), directory.size(), directory_offset)));
  return file.commit();
}

}  // namespace plimsoll::io
