#include <string_view>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/text_lines.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  static std::vector<std::byte> memory(1 + 255 * 2);
  auto bytes =
      io::ByteReader::open(fuzz::file_of(input.bytes),
                           std::span(memory).first(1 + input.settings * 2),
                           {io::Compression::none, false});
  fuzz::require(bytes.ok(), "a plain file opens");
  const std::int64_t window = bytes->window_bytes();
  io::LineReader reader(*std::move(bytes));
  std::string_view rest(reinterpret_cast<const char*>(input.bytes.data()),
                        input.bytes.size());
  std::int64_t number = 1;
  for (io::TextLine line;; ++number) {
    const auto more = reader.next(line);
    if (!more) {
      const auto end =
          rest.substr(0, static_cast<std::size_t>(window)).find('\n');
      fuzz::require(end == std::string_view::npos &&
                        rest.size() >= static_cast<std::size_t>(window),
                    "only lines that are too long are errors");
      return 0;
    }
    fuzz::require(*more == !rest.empty(), "every byte is in a line");
    if (!*more) return 0;
    const auto end = rest.find('\n');
    std::string_view wanted = rest.substr(0, end);
    if (end != std::string_view::npos && wanted.ends_with('\r')) {
      wanted.remove_suffix(1);
    }
    fuzz::require(line.text == wanted && line.number == number,
                  "a line is what stands between newlines");
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}
