#include <fmt/core.h>

#include <array>
#include <utility>

#include "io/safetensors.h"
#include "io/safetensors_header.h"

namespace plimsoll::io {

SafetensorsFile::SafetensorsFile(InputFile file, std::vector<Entry> entries,
                                 TextMap metadata)
    : file_(std::move(file)),
      entries_(std::move(entries)),
      metadata_(std::move(metadata)) {}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  PLIMSOLL_ASSIGN(InputFile file, InputFile::open(path));
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", path, what)};
  };
  constexpr std::int64_t kLengthBytes = 8;
  if (file.size_bytes() < kLengthBytes) {
    return bad(fmt::format("has {} bytes: too short for a safetensors file",
                           file.size_bytes()));
  }
  std::array<unsigned char, kLengthBytes> start{};
  PLIMSOLL_RETURN_IF_ERROR(
      file.read_at(0, std::as_writable_bytes(std::span(start))));
  std::uint64_t claimed = 0;
  for (std::size_t i = start.size(); i-- > 0;)
    claimed = claimed << 8 | start[i];
  if (claimed > static_cast<std::uint64_t>(kMostSafetensorsHeaderBytes)) {
    return bad(fmt::format("claims a header of {} bytes; at most {} are read",
                           claimed, kMostSafetensorsHeaderBytes));
  }
  const auto length = static_cast<std::int64_t>(claimed);
  const std::int64_t data_offset = kLengthBytes + length;
  if (data_offset > file.size_bytes()) {
    return bad(
        fmt::format("is truncated: its header ends at byte {}, the file at {}",
                    data_offset, file.size_bytes()));
  }
  std::string json(static_cast<std::size_t>(length), '\0');
  PLIMSOLL_RETURN_IF_ERROR(
      file.read_at(kLengthBytes, std::as_writable_bytes(std::span(json))));
  PLIMSOLL_ASSIGN(
      SafetensorsHeader header,
      parse_safetensors_header(json, file.size_bytes() - data_offset, path));
  for (Entry& entry : header.entries) entry.offset += data_offset;
  return SafetensorsFile(std::move(file), std::move(header.entries),
                         std::move(header.metadata));
}

const SafetensorsFile::Entry* SafetensorsFile::find(
    std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Status SafetensorsFile::read(const Entry& entry,
                             std::span<std::byte> out) const {
  if (static_cast<std::int64_t>(out.size()) != entry.bytes) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: tensor '{}' has {} bytes, its destination {}",
                             path(), entry.name, entry.bytes, out.size())};
  }
  return file_.read_at(entry.offset, out);
}

Status SafetensorsFile::read_piece(const Entry& entry, std::int64_t offset,
                                   std::span<std::byte> out) const {
  if (offset < 0 || std::ssize(out) > entry.bytes - offset) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{}: tensor '{}' has {} bytes, not {} from {} on", path(),
                    entry.name, entry.bytes, out.size(), offset)};
  }
  return file_.read_at(entry.offset + offset, out);
}

}  // namespace plimsoll::io
