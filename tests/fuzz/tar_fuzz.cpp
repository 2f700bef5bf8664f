// Headers are mostly zeros: an input is an archive with runs of zeros packed
// as (0, count - 1), and by its settings with checksums made right, so that
// what lies behind them is reached too.
#include <array>
#include <string>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/tar.h"

using namespace plimsoll;

namespace {

constexpr std::size_t kMostBytes = 32 * 1024;

std::string unpacked(std::span<const std::byte> packed) {
  std::string out;
  for (std::size_t i = 0; i < packed.size() && out.size() < kMostBytes; ++i) {
    const auto byte = std::to_integer<unsigned char>(packed[i]);
    if (byte != 0 || i + 1 == packed.size()) {
      out += static_cast<char>(byte);
    } else {
      out.append(std::to_integer<std::size_t>(packed[++i]) + 1, '\0');
    }
  }
  return out;
}

void make_sums_right(std::string& bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (bytes[at] == 0) continue;
    bytes.replace(at + 148, 8, "        ");
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) {
      sum += static_cast<unsigned char>(bytes[at + i]);
    }
    char text[9];
    std::snprintf(text, sizeof(text), "%06o", sum);
    bytes.replace(at + 148, 6, text, 6);
  }
}

void check_inside(const std::string& bytes, std::int64_t offset,
                  std::int64_t size) {
  const auto most = static_cast<std::int64_t>(bytes.size());
  fuzz::require(
      offset >= 0 && size >= 0 && offset <= most && size <= most - offset,
      "members are inside the archive");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  std::string bytes = unpacked(input.bytes);
  if (input.settings & 1) make_sums_right(bytes);
  static std::vector<std::byte> memory(
      static_cast<std::size_t>(io::tar_reader_bytes(600)));
  auto reader = io::TarReader::open(
      fuzz::file_of(std::as_bytes(std::span(bytes))), memory);
  if (!reader || reader->is_gzip()) return 0;
  if (input.settings & 2) {
    io::TarGroup group;
    while (true) {
      const std::int64_t before = reader->position();
      const auto any = reader->next_group(group);
      if (!any || !*any) return 0;
      fuzz::require(reader->position() > before, "the reader moves on");
      fuzz::require(group.count > 0 && group.count <= io::kMostGroupParts,
                    "a group has parts");
      for (int i = 0; i < group.count; ++i) {
        const io::TarPart& part = group.parts[static_cast<std::size_t>(i)];
        check_inside(bytes, part.offset, part.size_bytes);
      }
    }
  }
  io::TarMember member;
  while (true) {
    const std::int64_t before = reader->position();
    const auto any = reader->next(member);
    if (!any || !*any) return 0;
    fuzz::require(reader->position() > before, "the reader moves on");
    fuzz::require(!member.name.empty() &&
                      member.name.size() <= io::TarReader::kMostNameBytes,
                  "names are bounded");
    check_inside(bytes, member.offset, member.size_bytes);
  }
}
