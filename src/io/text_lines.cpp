#include "io/text_lines.h"

#include <fmt/core.h>

#include <cstring>

namespace plimsoll::io {

Result<bool> LineReader::next(TextLine& line) {
  std::int64_t searched = 0;
  for (;;) {
    const auto seen =
        reader_.peek().subspan(static_cast<std::size_t>(searched));
    const auto* const newline = static_cast<const std::byte*>(
        seen.empty() ? nullptr : std::memchr(seen.data(), '\n', seen.size()));
    const auto* const first =
        reinterpret_cast<const char*>(reader_.peek().data());
    std::int64_t text_bytes = reader_.available_bytes();
    std::int64_t line_bytes = text_bytes;
    if (newline != nullptr) {
      text_bytes = newline - reader_.peek().data();
      line_bytes = text_bytes + 1;
      if (text_bytes > 0 && first[text_bytes - 1] == '\r') --text_bytes;
    } else {
      searched = reader_.available_bytes();
      if (searched == reader_.window_bytes()) {
        return Error{
            ErrorCode::bad_input,
            fmt::format("{}: line {} at offset {} is too long: {} "
                        "bytes fill the buffer before its end",
                        path(), number_, reader_.position(), searched)};
      }
      PLIMSOLL_RETURN_IF_ERROR(reader_.fill(searched + 1));
      if (reader_.available_bytes() > searched) continue;
      if (searched == 0) return false;
    }
    line = {{first, static_cast<std::size_t>(text_bytes)},
            number_,
            reader_.position()};
    reader_.consume(line_bytes);
    ++number_;
    return true;
  }
}

Status LineReader::seek(std::int64_t offset, std::int64_t number) {
  PLIMSOLL_RETURN_IF_ERROR(reader_.seek(offset));
  number_ = number;
  return {};
}

std::string excerpt_of(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < ' ' || byte == 0x7f ? '?' : c;
  }
  return text.size() > kMost ? out + "..." : out;
}

}  // namespace plimsoll::io
