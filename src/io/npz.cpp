#include "io/npz.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/units.h"

namespace plimsoll::io {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMostHeaderBytes = 64 * kKiB;

}  // namespace

Result<NpzArray> NpzFile::read_header(const ZipEntry& entry,
                                      std::span<std::byte> memory) const {
  NpzArray array;
  array.name = entry.name.substr(0, entry.name.size() - kSuffix.size());
  array.deflated = entry.deflated;
  const std::string where = fmt::format("{}: {}", file_.path(), entry.name);
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", where, what)};
  };
  constexpr std::int64_t kShortest = 10;  // magic, version, 16-bit length
  if (entry.bytes < kShortest) {
    return bad(
        fmt::format("has {} bytes: too short for an npy file", entry.bytes));
  }
  PLIMSOLL_ASSIGN(ZipStream stream, ZipStream::start(file_, entry, memory));
  std::array<char, 12> start{};
  PLIMSOLL_RETURN_IF_ERROR(
      stream.read(std::as_writable_bytes(std::span(start).first(kShortest))));
  if (std::string_view(start.data(), kMagic.size()) != kMagic) {
    return bad("is not an npy file: it does not begin with \"\\x93NUMPY\"");
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::int64_t>(static_cast<unsigned char>(start[i]));
  };
  const std::int64_t version = byte(6);
  if (version < 1 || version > 3) {
    return bad(fmt::format("is npy version {}.{}; 1 to 3 can be read", version,
                           byte(7)));
  }
  if (version > 1) {
    if (stream.left_bytes() < 2) return bad("is truncated in its header");
    PLIMSOLL_RETURN_IF_ERROR(
        stream.read(std::as_writable_bytes(std::span(start).last(2))));
  }
  std::int64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMostHeaderBytes || length > stream.left_bytes()) {
    return bad(
        fmt::format("claims a header of {} bytes; at most {} are read "
                    "and {} are there",
                    length, kMostHeaderBytes, stream.left_bytes()));
  }
  const std::int64_t header_end = (version == 1 ? 10 : 12) + length;
  std::string dictionary(static_cast<std::size_t>(length), '\0');
  PLIMSOLL_RETURN_IF_ERROR(
      stream.read(std::as_writable_bytes(std::span(dictionary))));
  PLIMSOLL_ASSIGN(array.header, parse_npy_header(dictionary, where));
  array.data_bytes =
      array.header.shape.elements() * size_of(array.header.dtype);
  if (array.data_bytes > entry.bytes - header_end) {
    return bad(
        fmt::format("is truncated: {} of {} need {} bytes after the "
                    "header, the entry has {}",
                    array.header.shape.to_string(), name_of(array.header.dtype),
                    array.data_bytes, entry.bytes - header_end));
  }
  array.data_offset = header_end + (entry.deflated ? 0 : entry.data_offset);
  return array;
}

Result<NpzFile> NpzFile::open(const std::string& path) {
  PLIMSOLL_ASSIGN(InputFile file, InputFile::open(path));
  NpzFile npz(std::move(file));
  PLIMSOLL_ASSIGN(std::vector<ZipEntry> entries, read_zip_directory(npz.file_));
  std::vector<std::byte> memory(ZipStream::kMemoryBytes);
  for (ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kSuffix)) continue;
    PLIMSOLL_ASSIGN(NpzArray array, npz.read_header(entry, memory));
    npz.arrays_.push_back(std::move(array));
    npz.entries_.push_back(std::move(entry));
  }
  return npz;
}

Result<int> NpzFile::find(std::string_view name) const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (arrays_[i].name == name) return static_cast<int>(i);
  }
  std::string names;
  for (const NpzArray& array : arrays_) {
    if (names.size() > 200) break;
    names += (names.empty() ? "" : ", ") + array.name;
  }
  return Error{ErrorCode::bad_input,
               fmt::format("{}: has no array \"{}\"; it has: {}", file_.path(),
                           name, names)};
}

Status NpzFile::read(int array, std::int64_t offset,
                     std::span<std::byte> out) const {
  const NpzArray& facts = arrays_[static_cast<std::size_t>(array)];
  if (facts.deflated) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: {} is compressed and can only be read from "
                             "front to back; write it with numpy.savez",
                             file_.path(), facts.name)};
  }
  return file_.read_at(facts.data_offset + offset, out);
}

Result<ZipStream> NpzFile::stream(int array,
                                  std::span<std::byte> memory) const {
  const auto number = static_cast<std::size_t>(array);
  PLIMSOLL_ASSIGN(ZipStream stream,
                  ZipStream::start(file_, entries_[number], memory));
  const NpzArray& facts = arrays_[number];
  std::int64_t skipped = facts.data_offset;
  if (!facts.deflated) skipped -= entries_[number].data_offset;
  std::array<std::byte, 256> slice;
  while (skipped > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(
        skipped, static_cast<std::int64_t>(slice.size())));
    PLIMSOLL_RETURN_IF_ERROR(stream.read(std::span(slice).first(count)));
    skipped -= static_cast<std::int64_t>(count);
  }
  return stream;
}

}  // namespace plimsoll::io
