#include "io/example_builder.h"

#include <utility>

#include "io/example.h"

namespace plimsoll::io {
namespace {

// Every field written here holds bytes.
constexpr int kBytesType = 2;

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_bytes(std::string& out, int number, std::string_view bytes) {
  put_varint(out, static_cast<std::uint64_t>(number << 3 | kBytesType));
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

ExampleBuilder& ExampleBuilder::add(std::string_view name, int kind,
                                    std::string_view list) {
  std::string feature;
  put_bytes(feature, kind, list);
  std::string entry;
  put_bytes(entry, 1, name);
  put_bytes(entry, 2, feature);
  put_bytes(entries_, 1, entry);
  return *this;
}

ExampleBuilder& ExampleBuilder::floats(std::string_view name,
                                       std::span<const float> values) {
  std::string list;
  put_bytes(
      list, 1,
      {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  return add(name, static_cast<int>(FeatureKind::floats), list);
}

ExampleBuilder& ExampleBuilder::int64s(std::string_view name,
                                       std::span<const std::int64_t> values) {
  std::string packed;
  for (const std::int64_t value : values) {
    put_varint(packed, static_cast<std::uint64_t>(value));
  }
  std::string list;
  put_bytes(list, 1, packed);
  return add(name, static_cast<int>(FeatureKind::int64s), list);
}

ExampleBuilder& ExampleBuilder::bytes(
    std::string_view name, std::span<const std::string_view> values) {
  std::string list;
  for (const std::string_view value : values) put_bytes(list, 1, value);
  return add(name, static_cast<int>(FeatureKind::bytes), list);
}

ExampleBuilder& ExampleBuilder::int64(std::string_view name,
                                      std::int64_t value) {
  return int64s(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view name,
                                      std::string_view value) {
  return bytes(name, std::span(&value, 1));
}

std::string ExampleBuilder::take() {
  std::string example;
  put_bytes(example, 1, std::exchange(entries_, {}));
  return example;
}

}  // namespace plimsoll::io
