#include "io/tar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/units.h"
#include "io/tar_header.h"

namespace plimsoll::io {
namespace {

constexpr std::size_t kMostPaxBytes = 16 * kKiB;
constexpr std::size_t kMostQuoted = 60;
constexpr std::int64_t kMostGzipBytes = std::int64_t{1} << 60;

std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMostQuoted)) {
    out += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  return text.size() > kMostQuoted ? out + "..." : out;
}

// A name of a fixed most length.
template <std::size_t kMost>
struct FixedText {
  std::array<char, kMost> text;
  std::size_t bytes = 0;

  std::string_view view() const { return {text.data(), bytes}; }
  bool append(std::string_view more) {
    if (more.size() > kMost - bytes) return false;
    if (more.empty()) return true;
    std::memcpy(text.data() + bytes, more.data(), more.size());
    bytes += more.size();
    return true;
  }
  bool set(std::string_view to) {
    bytes = 0;
    return append(to);
  }
};

struct SplitName {
  std::string_view key;
  std::string_view extension;
};

// Empty key: no file of a sample.
SplitName split_name(std::string_view name) {
  const auto slash = name.rfind('/');
  const std::size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  const auto dot = name.find('.', last);
  if (dot == std::string_view::npos || dot == last) return {};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace

struct TarReader::Names {
  TarBlock block;
  std::array<char, kMostPaxBytes> pax;
  FixedText<kMostNameBytes> name;
  bool has_name = false;                       // from a header before it
  std::optional<std::int64_t> pax_size_bytes;  // likewise
  bool sparse = false;                         // likewise
  FixedText<kMostNameBytes> key;               // of the group
  std::array<FixedText<kMostExtensionBytes>, kMostGroupParts> extensions;
};

Result<TarReader> TarReader::open(const std::string& path,
                                  std::span<std::byte> memory,
                                  const ByteReaderOptions& options) {
  static_assert(sizeof(Names) + alignof(Names) <= kTarNamesBytes);
  static_assert(std::is_trivially_destructible_v<Names>);
  constexpr auto kNames = static_cast<std::size_t>(kTarNamesBytes);
  const std::size_t for_names = std::min(kNames, memory.size());
  PLIMSOLL_ASSIGN(ByteReader bytes,
                  ByteReader::open(path, memory.subspan(for_names), options));
  if (bytes.window_bytes() < kTarBlockBytes) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{}: its reader needs {} bytes of memory, not {}", path,
                    tar_reader_bytes(kTarBlockBytes), memory.size())};
  }
  void* at = memory.data();
  std::size_t left = kNames;
  std::align(alignof(Names), sizeof(Names), at, left);
  TarReader reader(std::move(bytes), new (at) Names);
  // Says at once when it is no archive at all.
  PLIMSOLL_RETURN_IF_ERROR(reader.read_header(0));
  return reader;
}

Error TarReader::bad(std::int64_t offset, const std::string& what) const {
  return {ErrorCode::bad_input,
          fmt::format("{}: tar header at offset {}: {}", path(), offset, what)};
}

void TarReader::seek(std::int64_t position) {
  waiting_.reset();
  position_ = position;
  // Whether the member before was padded is not known.
  data_end_ = std::max<std::int64_t>(0, position - kTarBlockBytes + 1);
}

// To where a header should begin. The last member need not be padded: false
// where the file ends in what should be padding.
Result<bool> TarReader::go_to(std::int64_t offset) {
  auto found = reader_.seek(std::min(offset, data_end_));
  if (!found) {
    Error error = std::move(found).error();
    error.message += fmt::format(
        ": the archive is cut off, or what lies before offset {} claims too "
        "much",
        offset);
    return error;
  }
  while (reader_.position() < offset) {
    PLIMSOLL_RETURN_IF_ERROR(reader_.fill(1));
    if (reader_.available_bytes() == 0) return false;
    reader_.consume(offset - reader_.position());
  }
  return true;
}

Status TarReader::read_at(std::int64_t offset, std::span<std::byte> out) {
  PLIMSOLL_RETURN_IF_ERROR(reader_.seek(offset));
  while (!out.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(reader_.fill(1));
    const auto seen = reader_.peek();
    if (seen.empty()) {
      return bad(offset, fmt::format("its bytes are cut off: the archive ends "
                                     "at byte {}, {} short",
                                     reader_.position(), out.size()));
    }
    const std::size_t bytes = std::min(out.size(), seen.size());
    std::memcpy(out.data(), seen.data(), bytes);
    reader_.consume(static_cast<std::int64_t>(bytes));
    out = out.subspan(bytes);
  }
  return {};
}

Result<bool> TarReader::read_header(std::int64_t offset) {
  if (offset < 0 || offset % kTarBlockBytes != 0) {
    return bad(offset,
               fmt::format("there can be none: they lie at multiples of {}",
                           kTarBlockBytes));
  }
  PLIMSOLL_ASSIGN(const bool there, go_to(offset));
  if (!there) return false;
  PLIMSOLL_RETURN_IF_ERROR(reader_.fill(kTarBlockBytes));
  const std::int64_t left = reader_.available_bytes();
  if (left == 0) return false;
  if (left < kTarBlockBytes) {
    return bad(offset,
               fmt::format("truncated: {} bytes of {}", left, kTarBlockBytes));
  }
  TarBlock& block = names_->block;
  std::memcpy(block.data(), reader_.peek().data(), block.size());
  if (is_zero(block)) return false;
  if (!checksum_is_right(block)) {
    return bad(offset,
               "its checksum is wrong: the archive is damaged, compressed "
               "otherwise than by gzip, or no tar archive");
  }
  return true;
}

Status TarReader::read_pax(std::int64_t offset, std::int64_t bytes) {
  if (bytes > static_cast<std::int64_t>(kMostPaxBytes)) {
    return bad(offset, fmt::format("a pax header of {} bytes; at most {} are "
                                   "read",
                                   bytes, kMostPaxBytes));
  }
  const auto text =
      std::span(names_->pax).first(static_cast<std::size_t>(bytes));
  PLIMSOLL_RETURN_IF_ERROR(
      read_at(offset + kTarBlockBytes, std::as_writable_bytes(text)));
  const auto records = parse_pax({text.data(), text.size()});
  if (!records) return bad(offset, records.error().message);
  if (records->path) {
    if (!names_->name.set(*records->path)) {
      return bad(offset, fmt::format("a name of {} bytes; at most {} are read",
                                     records->path->size(), kMostNameBytes));
    }
    names_->has_name = true;
  }
  if (records->size_bytes) names_->pax_size_bytes = records->size_bytes;
  names_->sparse |= records->sparse;
  return {};
}

Status TarReader::read_long_name(std::int64_t offset, std::int64_t bytes) {
  if (bytes > static_cast<std::int64_t>(kMostNameBytes)) {
    return bad(offset, fmt::format("a name of {} bytes; at most {} are read",
                                   bytes, kMostNameBytes));
  }
  auto& name = names_->name;
  PLIMSOLL_RETURN_IF_ERROR(read_at(
      offset + kTarBlockBytes,
      std::as_writable_bytes(
          std::span(name.text).first(static_cast<std::size_t>(bytes)))));
  name.bytes = static_cast<std::size_t>(bytes);
  name.bytes = std::min(name.view().find('\0'), name.bytes);
  names_->has_name = true;
  return {};
}

Status TarReader::take_header_name(std::int64_t offset) {
  auto& name = names_->name;
  if (!names_->has_name) {
    const std::string_view prefix = tar_prefix(names_->block);
    name.set(prefix);  // both together are shorter than the buffer
    if (!prefix.empty()) name.append("/");
    name.append(tar_name(names_->block));
  }
  if (name.bytes == 0 || name.view().find('\0') != std::string_view::npos) {
    return bad(offset, "a member without a name, or with a zero byte in it");
  }
  return {};
}

Result<bool> TarReader::next(TarMember& member) {
  if (waiting_) {
    member = waiting_->member;
    waiting_.reset();
    return true;
  }
  names_->has_name = false;
  names_->pax_size_bytes.reset();
  names_->sparse = false;
  std::int64_t offset = position_;
  while (true) {
    PLIMSOLL_ASSIGN(const bool any, read_header(offset));
    if (!any) {
      if (offset != position_) {
        return bad(offset, "the archive ends where a member was announced");
      }
      return false;
    }
    const char type = tar_type(names_->block);
    const bool about_next =
        type == 'x' || type == 'g' || type == 'L' || type == 'K';
    auto size = tar_size(names_->block);
    if (!about_next && names_->pax_size_bytes) {
      size = names_->pax_size_bytes;
    }
    // Links and folders have no bytes, whatever their header says.
    if (type >= '1' && type <= '6') size = 0;
    const std::int64_t data = offset + kTarBlockBytes;
    // How much a gzip file holds is known at its end.
    const std::int64_t most =
        (is_gzip() ? kMostGzipBytes : reader_.file_bytes()) - data;
    if (!size || *size > most) {
      return bad(offset, size ? fmt::format("claims {} bytes; the file has {} "
                                            "behind it",
                                            *size, most)
                              : "its size is no number");
    }
    const std::int64_t end = data + round_up(*size, kTarBlockBytes);
    if (about_next) {
      if (type == 'x') PLIMSOLL_RETURN_IF_ERROR(read_pax(offset, *size));
      if (type == 'L') PLIMSOLL_RETURN_IF_ERROR(read_long_name(offset, *size));
      data_end_ = data + *size;
      offset = end;
      continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(take_header_name(offset));
    const std::string_view name = names_->name.view();
    if (type == 'S' || names_->sparse) {
      return Error{ErrorCode::unsupported,
                   bad(offset, fmt::format("\"{}\" is a sparse file; archive "
                                           "it whole (tar without -S)",
                                           excerpt(name)))
                       .message};
    }
    const bool plain = type == '0' || type == '\0' || type == '7';
    const bool folder = type == '5' || (plain && name.back() == '/');
    member = {name,
              folder  ? TarType::folder
              : plain ? TarType::file
                      : TarType::other,
              data, plain && !folder ? *size : 0};
    data_end_ = data + *size;
    position_ = end;
    return true;
  }
}

Status TarReader::read(const TarMember& member, std::span<std::byte> out) {
  if (static_cast<std::int64_t>(out.size()) > member.size_bytes) {
    return bad(
        member.offset - kTarBlockBytes,
        fmt::format("has {} bytes, not {}", member.size_bytes, out.size()));
  }
  return read_at(member.offset, out);
}

Status TarReader::add_part(const TarMember& member, std::int64_t begin,
                           TarGroup& group, TarTarget* target) {
  const auto [key, extension] = split_name(member.name);
  if (group.count == kMostGroupParts) {
    return bad(begin, fmt::format("\"{}\" has more than {} files", excerpt(key),
                                  kMostGroupParts));
  }
  for (int i = 0; i < group.count; ++i) {
    if (group.parts[static_cast<std::size_t>(i)].extension == extension) {
      return bad(begin,
                 fmt::format("\"{}\" is there twice", excerpt(member.name)));
    }
  }
  const auto part = static_cast<std::size_t>(group.count++);
  if (!names_->extensions[part].set(extension)) {
    return bad(begin,
               fmt::format("the extension of \"{}\" has {} bytes; at most {} "
                           "are read",
                           excerpt(member.name), extension.size(),
                           kMostExtensionBytes));
  }
  names_->key.set(key);
  group.parts[part] = {names_->extensions[part].view(), member.offset,
                       member.size_bytes};
  std::byte* const to = target == nullptr
                            ? nullptr
                            : target->room_for(extension, member.size_bytes);
  if (to == nullptr) return {};
  return read_at(member.offset,
                 {to, static_cast<std::size_t>(member.size_bytes)});
}

Result<bool> TarReader::next_group(TarGroup& group, TarTarget* target) {
  group.count = 0;
  while (true) {
    const std::int64_t begin = position();
    TarMember member;
    PLIMSOLL_ASSIGN(const bool any, next(member));
    if (!any) break;
    if (member.type != TarType::file) continue;
    const std::string_view key = split_name(member.name).key;
    if (key.empty()) continue;
    if (group.count > 0 && key != names_->key.view()) {
      waiting_ = {member, begin};  // the first of the next group
      break;
    }
    PLIMSOLL_RETURN_IF_ERROR(add_part(member, begin, group, target));
  }
  group.key = names_->key.view();
  return group.count > 0;
}

}  // namespace plimsoll::io
