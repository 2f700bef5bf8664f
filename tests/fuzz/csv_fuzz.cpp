#include <array>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/csv.h"

using namespace plimsoll;

namespace {

// Room for one value of any type.
struct Cell {
  alignas(
      std::string_view) std::array<std::byte, sizeof(std::string_view)> value;
};

io::CsvOptions options_of(unsigned settings) {
  io::CsvOptions options;
  options.header = static_cast<io::CsvHeader>((settings & 3) % 3);
  if ((settings & 4) != 0) options.delimiter = ';';
  if ((settings & 8) != 0) options.missing = "0";
  if ((settings & 16) != 0) {
    options.columns = {{"", io::CsvType::f32, "1.5"},
                       {"", io::CsvType::text, {}},
                       {"", io::CsvType::i32, {}}};
  }
  options.sample_rows = 3;
  options.most_columns = 8;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  static std::vector<std::byte> memory(512);
  const std::span<std::byte> window = std::span(memory).first(
      std::array{16u, 64u, 512u}[(input.settings >> 5) % 3]);
  auto bytes = io::ByteReader::open(fuzz::file_of(input.bytes), window,
                                    {io::Compression::none, false});
  fuzz::require(bytes.ok(), "a plain file opens");
  auto csv = io::CsvReader::open(*std::move(bytes), options_of(input.settings));
  if (!csv) return 0;
  const std::size_t columns = csv->columns().size();
  fuzz::require(columns >= 1 && columns <= 8, "there are columns");
  std::array<Cell, 8> cells;
  std::array<void*, 8> to{};
  for (std::size_t i = 0; i < columns; ++i) to[i] = &cells[i];
  const auto start = csv->position();
  std::array<std::int64_t, 2> rows{};
  int errors = 0;
  for (std::int64_t& count : rows) {
    std::int64_t offset = start.offset - 1;
    for (;;) {
      fuzz::require(csv->position().offset > offset ||
                        csv->position().offset == start.offset,
                    "each row goes on");
      offset = csv->position().offset;
      const auto more = csv->next(std::span(to).first(columns));
      if (!more && !csv->can_continue()) break;
      if (!more) {
        // Texts of errors take most of the time.
        if (++errors == 5) return 0;
        continue;
      }
      if (!*more) break;
      ++count;
      for (std::size_t i = 0; i < columns; ++i) {
        if (csv->columns()[i].type != io::CsvType::text) continue;
        const auto text = *static_cast<std::string_view*>(to[i]);
        fuzz::require(fuzz::is_inside(std::as_bytes(std::span(text)), window),
                      "a text is inside the window");
      }
    }
    fuzz::require(csv->seek(start).ok(), "seeking back works");
  }
  fuzz::require(rows[0] == rows[1], "a second reading gives the same");
  return 0;
}
