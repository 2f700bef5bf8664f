#include "io/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/units.h"
#include "io/tar_header.h"

namespace plimsoll::io {
namespace {

constexpr std::size_t kMostPaxBytes = 16 * kKiB;
constexpr std::size_t kMostQuoted = 60;

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

struct TarReader::Buffers {
  TarBlock block;
  std::array<char, kMostPaxBytes> pax;
  FixedText<kMostNameBytes> name;
  bool has_name = false;                       // from a header before it
  std::optional<std::int64_t> pax_size_bytes;  // likewise
  bool sparse = false;                         // likewise
  FixedText<kMostNameBytes> key;               // of the group
  std::array<FixedText<kMostExtensionBytes>, kMostGroupParts> extensions;
};

TarReader::TarReader(InputFile file)
    : file_(std::move(file)), buffers_(std::make_unique<Buffers>()) {}
TarReader::TarReader(TarReader&& other) noexcept = default;
TarReader::~TarReader() = default;

Result<TarReader> TarReader::open(const std::string& path) {
  PLIMSOLL_ASSIGN(InputFile file, InputFile::open(path));
  TarReader reader(std::move(file));
  // Says at once when it is no archive at all.
  PLIMSOLL_ASSIGN(const bool any, reader.read_header(0));
  static_cast<void>(any);
  return reader;
}

Error TarReader::bad(std::int64_t offset, const std::string& what) const {
  return {ErrorCode::bad_input, fmt::format("{}: tar header at offset {}: {}",
                                            file_.path(), offset, what)};
}

Result<bool> TarReader::read_header(std::int64_t offset) {
  if (offset < 0 || offset > file_.size_bytes()) {
    return bad(offset, fmt::format("outside of the file's {} bytes",
                                   file_.size_bytes()));
  }
  const std::int64_t left = file_.size_bytes() - offset;
  if (left == 0) return false;
  if (left < kTarBlockBytes) {
    return bad(offset,
               fmt::format("truncated: {} bytes of {}", left, kTarBlockBytes));
  }
  TarBlock& block = buffers_->block;
  PLIMSOLL_RETURN_IF_ERROR(
      file_.read_at(offset, std::as_writable_bytes(std::span(block))));
  if (is_zero(block)) return false;
  if (!checksum_is_right(block)) {
    return bad(offset,
               "its checksum is wrong: the archive is damaged, compressed or "
               "no tar archive");
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
      std::span(buffers_->pax).first(static_cast<std::size_t>(bytes));
  PLIMSOLL_RETURN_IF_ERROR(
      file_.read_at(offset + kTarBlockBytes, std::as_writable_bytes(text)));
  const auto records = parse_pax({text.data(), text.size()});
  if (!records) return bad(offset, records.error().message);
  if (records->path) {
    if (!buffers_->name.set(*records->path)) {
      return bad(offset, fmt::format("a name of {} bytes; at most {} are read",
                                     records->path->size(), kMostNameBytes));
    }
    buffers_->has_name = true;
  }
  if (records->size_bytes) buffers_->pax_size_bytes = records->size_bytes;
  buffers_->sparse |= records->sparse;
  return {};
}

Status TarReader::read_long_name(std::int64_t offset, std::int64_t bytes) {
  if (bytes > static_cast<std::int64_t>(kMostNameBytes)) {
    return bad(offset, fmt::format("a name of {} bytes; at most {} are read",
                                   bytes, kMostNameBytes));
  }
  auto& name = buffers_->name;
  PLIMSOLL_RETURN_IF_ERROR(file_.read_at(
      offset + kTarBlockBytes,
      std::as_writable_bytes(
          std::span(name.text).first(static_cast<std::size_t>(bytes)))));
  name.bytes = static_cast<std::size_t>(bytes);
  name.bytes = std::min(name.view().find('\0'), name.bytes);
  buffers_->has_name = true;
  return {};
}

Status TarReader::take_header_name(std::int64_t offset) {
  auto& name = buffers_->name;
  if (!buffers_->has_name) {
    const std::string_view prefix = tar_prefix(buffers_->block);
    name.set(prefix);  // both together are shorter than the buffer
    if (!prefix.empty()) name.append("/");
    name.append(tar_name(buffers_->block));
  }
  if (name.bytes == 0 || name.view().find('\0') != std::string_view::npos) {
    return bad(offset, "a member without a name, or with a zero byte in it");
  }
  return {};
}

Result<bool> TarReader::next(TarMember& member) {
  buffers_->has_name = false;
  buffers_->pax_size_bytes.reset();
  buffers_->sparse = false;
  std::int64_t offset = position_;
  while (true) {
    PLIMSOLL_ASSIGN(const bool any, read_header(offset));
    if (!any) {
      if (offset != position_) {
        return bad(offset, "the archive ends where a member was announced");
      }
      return false;
    }
    const char type = tar_type(buffers_->block);
    const bool about_next =
        type == 'x' || type == 'g' || type == 'L' || type == 'K';
    auto size = tar_size(buffers_->block);
    if (!about_next && buffers_->pax_size_bytes) {
      size = buffers_->pax_size_bytes;
    }
    // Links and folders have no bytes, whatever their header says.
    if (type >= '1' && type <= '6') size = 0;
    const std::int64_t data = offset + kTarBlockBytes;
    if (!size || *size > file_.size_bytes() - data) {
      return bad(offset, size ? fmt::format("claims {} bytes; the file has {} "
                                            "behind it",
                                            *size, file_.size_bytes() - data)
                              : "its size is no number");
    }
    // The last member need not be padded.
    const std::int64_t end =
        std::min(data + round_up(*size, kTarBlockBytes), file_.size_bytes());
    if (about_next) {
      if (type == 'x') PLIMSOLL_RETURN_IF_ERROR(read_pax(offset, *size));
      if (type == 'L') PLIMSOLL_RETURN_IF_ERROR(read_long_name(offset, *size));
      offset = end;
      continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(take_header_name(offset));
    const std::string_view name = buffers_->name.view();
    if (type == 'S' || buffers_->sparse) {
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
    position_ = end;
    return true;
  }
}

Result<bool> TarReader::next_group(TarGroup& group) {
  group.count = 0;
  while (true) {
    const std::int64_t before = position_;
    TarMember member;
    PLIMSOLL_ASSIGN(const bool any, next(member));
    if (!any) break;
    const auto [key, extension] =
        member.type == TarType::file ? split_name(member.name) : SplitName{};
    if (key.empty()) continue;
    if (group.count > 0 && key != buffers_->key.view()) {
      position_ = before;  // the first of the next group
      break;
    }
    if (group.count == kMostGroupParts) {
      return bad(before, fmt::format("\"{}\" has more than {} files",
                                     excerpt(key), kMostGroupParts));
    }
    for (int i = 0; i < group.count; ++i) {
      if (group.parts[static_cast<std::size_t>(i)].extension == extension) {
        return bad(before,
                   fmt::format("\"{}\" is there twice", excerpt(member.name)));
      }
    }
    const auto part = static_cast<std::size_t>(group.count++);
    if (!buffers_->extensions[part].set(extension)) {
      return bad(before,
                 fmt::format("the extension of \"{}\" has {} bytes; at most {} "
                             "are read",
                             excerpt(member.name), extension.size(),
                             kMostExtensionBytes));
    }
    buffers_->key.set(key);
    group.parts[part] = {buffers_->extensions[part].view(), member.offset,
                         member.size_bytes};
  }
  group.key = buffers_->key.view();
  return group.count > 0;
}

}  // namespace plimsoll::io
