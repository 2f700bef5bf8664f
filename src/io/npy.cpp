#include "io/npy.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/units.h"

namespace plimsoll::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy itself refuses to evaluate headers past 10,000 bytes.
constexpr std::int64_t kMostHeaderBytes = 64 * kKiB;
constexpr std::int64_t kAlignment = 64;

std::string_view npy_code(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::f16:
      return "<f2";
    case DType::i8:
      return "|i1";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::u8:
      return "|u1";
    case DType::u16:
      return "<u2";
    case DType::u32:
      return "<u4";
    case DType::u64:
      return "<u8";
    case DType::boolean:
      return "|b1";
    case DType::bf16:
      break;
  }
  return {};
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (const Dim& dim : shape.dims()) text += fmt::format("{}, ", dim.size);
  if (shape.rank() > 1) text.resize(text.size() - 2);  // one size keeps ','
  if (shape.rank() == 1) text.pop_back();
  return text + ")";
}

}  // namespace

NpyFile::NpyFile(InputFile file, NpyHeader header, std::int64_t data_offset)
    : file_(std::move(file)),
      header_(std::move(header)),
      data_offset_(data_offset) {}

std::int64_t NpyFile::data_bytes() const {
  return header_.shape.elements() * size_of(header_.dtype);
}

Result<NpyFile> NpyFile::open(const std::string& path) {
  PLIMSOLL_ASSIGN(InputFile file, InputFile::open(path));
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", path, what)};
  };
  constexpr std::int64_t kShortest = 10;  // magic, version, 16-bit length
  if (file.size_bytes() < kShortest) {
    return bad(fmt::format("has {} bytes: too short for an npy file",
                           file.size_bytes()));
  }
  std::array<char, 12> start{};
  const std::int64_t start_bytes =
      file.size_bytes() < 12 ? kShortest : std::int64_t{12};
  PLIMSOLL_RETURN_IF_ERROR(file.read_at(
      0, std::as_writable_bytes(
             std::span(start).first(static_cast<std::size_t>(start_bytes)))));
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
  std::int64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  const std::int64_t header_offset = version == 1 ? 10 : 12;
  if (length > kMostHeaderBytes) {
    return bad(fmt::format("claims a header of {} bytes; at most {} are read",
                           length, kMostHeaderBytes));
  }
  if (header_offset + length > file.size_bytes()) {
    return bad(
        fmt::format("is truncated: its header ends at byte {}, the "
                    "file at {}",
                    header_offset + length, file.size_bytes()));
  }
  std::string dictionary(static_cast<std::size_t>(length), '\0');
  PLIMSOLL_RETURN_IF_ERROR(file.read_at(
      header_offset, std::as_writable_bytes(std::span(dictionary))));
  PLIMSOLL_ASSIGN(NpyHeader header, parse_npy_header(dictionary, path));

  NpyFile npy(std::move(file), std::move(header), header_offset + length);
  const std::int64_t present = npy.file_.size_bytes() - npy.data_offset_;
  if (npy.data_bytes() > present) {
    return bad(fmt::format(
        "is truncated: {} of {} need {} bytes after the header, the file has "
        "{}",
        npy.header_.shape.to_string(), name_of(npy.header_.dtype),
        npy.data_bytes(), present));
  }
  return npy;
}

Status NpyFile::read(std::int64_t offset, std::span<std::byte> out) const {
  return file_.read_at(data_offset_ + offset, out);
}

Result<std::string> npy_preamble(const NpyHeader& header) {
  if (npy_code(header.dtype).empty()) {
    return Error{ErrorCode::unsupported,
                 fmt::format("npy files cannot hold {}; cast to f32 first",
                             name_of(header.dtype))};
  }
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                  npy_code(header.dtype), shape_text(header.shape));
  const auto unpadded =
      static_cast<std::int64_t>(kMagic.size() + 4 + dictionary.size() + 1);
  dictionary.append(
      static_cast<std::size_t>(round_up(unpadded, kAlignment) - unpadded), ' ');
  dictionary += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
          static_cast<char>(dictionary.size() >> 8)};
  return out + dictionary;
}

Status write_npy(const std::string& path, const NpyHeader& header,
                 const void* data) {
  PLIMSOLL_ASSIGN(const std::string preamble, npy_preamble(header));
  PLIMSOLL_ASSIGN(const std::int64_t count, header.shape.checked_elements(1));
  PLIMSOLL_ASSIGN(ReplacedFile file, ReplacedFile::create(path));
  PLIMSOLL_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(preamble))));
  PLIMSOLL_RETURN_IF_ERROR(
      file.write({static_cast<const std::byte*>(data),
                  static_cast<std::size_t>(count * size_of(header.dtype))}));
  return file.commit();
}

}  // namespace plimsoll::io
