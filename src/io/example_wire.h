// Protocol buffers as they lie in memory. Inside the io folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::io {

enum class WireType : std::uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  fixed32 = 5,
};

// A message's bytes that are not read yet. What is taken is inside them; a
// take that finds something else gives false.
struct WireReader {
  const unsigned char* at = nullptr;
  const unsigned char* end = nullptr;

  WireReader() = default;
  WireReader(const unsigned char* first, std::size_t bytes)
      : at(first), end(first + bytes) {}

  bool empty() const { return at == end; }
  std::size_t left() const { return static_cast<std::size_t>(end - at); }

  bool take_varint(std::uint64_t& value) {
    if (at != end && *at < 0x80) {
      value = *at++;
      return true;
    }
    return take_long_varint(value);
  }

  bool take_long_varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
      const unsigned char byte = *at++;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool take_bytes(WireReader& inside) {
    std::uint64_t length = 0;
    if (!take_varint(length) || length > left()) return false;
    inside = WireReader(at, static_cast<std::size_t>(length));
    at += length;
    return true;
  }
};

// One field: `inside` holds its bytes (for a varint, those of the number).
struct WireField {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  WireReader inside;

  bool is(std::uint64_t wanted, WireType as) const {
    return number == wanted && type == as;
  }
};

inline bool take_field(WireReader& wire, WireField& field) {
  std::uint64_t tag = 0;
  if (!wire.take_varint(tag) || tag > UINT32_MAX || tag < 8) return false;
  field.number = tag >> 3;
  field.type = static_cast<WireType>(tag & 7);
  const unsigned char* const first = wire.at;
  std::uint64_t ignored = 0;
  std::size_t fixed = 0;
  switch (field.type) {
    case WireType::bytes:
      return wire.take_bytes(field.inside);
    case WireType::varint:
      if (!wire.take_varint(ignored)) return false;
      field.inside =
          WireReader(first, static_cast<std::size_t>(wire.at - first));
      return true;
    case WireType::fixed64:
      fixed = 8;
      break;
    case WireType::fixed32:
      fixed = 4;
      break;
    default:  // groups: long out of use
      return false;
  }
  if (wire.left() < fixed) return false;
  field.inside = WireReader(first, fixed);
  wire.at += fixed;
  return true;
}

}  // namespace plimsoll::io
