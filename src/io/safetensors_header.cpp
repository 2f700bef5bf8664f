#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace plimsoll::io {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kMostDimensions = 64;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"F64", DType::f64},     {"F32", DType::f32}, {"F16", DType::f16},
    {"BF16", DType::bf16},   {"I8", DType::i8},   {"I16", DType::i16},
    {"I32", DType::i32},     {"I64", DType::i64}, {"U8", DType::u8},
    {"U16", DType::u16},     {"U32", DType::u32}, {"U64", DType::u64},
    {"BOOL", DType::boolean}};
static_assert(std::size(kTypes) ==
              static_cast<std::size_t>(DType::boolean) + 1);

// File text in an error: short and printable.
std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) {
    out += c >= ' ' && c != '\x7f' ? c : '?';
  }
  return text.size() > 60 ? out + "..." : out;
}

// Takes the header as it is parsed and refuses the first thing out of place,
// so that a hostile header never grows into a tree of values.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;
  std::string problem;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_float(number_float_t, const string_t& text) override {
    return refuse(text);
  }
  bool number_integer(number_integer_t value) override {
    return refuse(fmt::format("{}", value));
  }
  bool binary(binary_t&) override { return refuse("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = number_unsigned_t{1} << 62;
    if (depth_ != 3 || value > kMost) return refuse(fmt::format("{}", value));
    if (numbers_.size() == kMostDimensions) return refuse("a longer list");
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      if (!header.metadata.emplace(key_, text).second) return twice(key_);
      return true;
    }
    if (depth_ != 2 || key_ != "dtype") return refuse(excerpt(text));
    if (dtype_) return twice(key_);
    for (const auto& [name, dtype] : kTypes) {
      if (name == text) dtype_ = dtype;
    }
    if (dtype_) return true;
    return fail(fmt::format("tensor '{}' has dtype '{}', which is not known",
                            excerpt(tensor_), excerpt(text)));
  }

  bool start_object(std::size_t) override {
    if (depth_ > 1) return refuse("an object");
    if (++depth_ == 2) {
      in_metadata_ = key_ == kMetadata;
      if (!names_.insert(key_).second) return twice(key_);
      tensor_ = key_;
      dtype_.reset();
      shape_.reset();
      range_.reset();
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    return true;
  }

  bool end_object() override {
    if (--depth_ != 1 || in_metadata_) return true;
    if (!dtype_ || !shape_ || !range_) {
      return fail(fmt::format("tensor '{}' lacks {}", excerpt(tensor_),
                              !dtype_   ? "dtype"
                              : !shape_ ? "shape"
                                        : "data_offsets"));
    }
    std::int64_t bytes = size_of(*dtype_);
    for (const std::int64_t size : *shape_) {
      if (__builtin_mul_overflow(bytes, size, &bytes)) bytes = -1;
      if (bytes <= 0) break;
    }
    const auto [begin, end] = *range_;
    if (begin > end || end - begin != bytes) {
      return fail(fmt::format(
          "tensor '{}' of {} [{}] does not match its bytes {} to {}",
          excerpt(tensor_), name_of(*dtype_), fmt::join(*shape_, ", "), begin,
          end));
    }
    header.entries.push_back(
        {tensor_, *dtype_,
         Shape(std::vector<Dim>(shape_->begin(), shape_->end())), begin,
         bytes});
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_) return refuse("a list");
    if (key_ != "shape" && key_ != "data_offsets") return refuse("a list");
    ++depth_;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    --depth_;
    if (key_ == "shape") {
      if (shape_) return twice(key_);
      shape_ = numbers_;
      return true;
    }
    if (range_) return twice(key_);
    if (numbers_.size() != 2) return refuse("a list not of two numbers");
    range_ = {numbers_[0], numbers_[1]};
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(fmt::format("the header is no JSON at its byte {}", position));
  }

 private:
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  bool refuse(const std::string& found) {
    return fail(
        fmt::format("the header has {} under '{}' of '{}', where it "
                    "does not belong",
                    found, excerpt(key_), excerpt(tensor_)));
  }
  bool twice(const std::string& name) {
    return fail(fmt::format("the header has '{}' twice", excerpt(name)));
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;
  std::string tensor_;
  std::set<std::string> names_;
  std::vector<std::int64_t> numbers_;
  std::optional<DType> dtype_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::pair<std::int64_t, std::int64_t>> range_;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                   std::int64_t data_bytes,
                                                   const std::string& path) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", path, what)};
  };
  HeaderReader reader;
  if (json.empty() || json.front() != '{') {
    return bad("the header does not begin with '{'");
  }
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) {
    return bad(reader.problem);
  }
  auto& entries = reader.header.entries;
  std::stable_sort(
      entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
      });
  std::int64_t end = 0;
  for (const auto& entry : entries) {
    if (entry.offset != end) {
      return bad(fmt::format(
          "tensor '{}' begins at byte {} of the data, {} (the one before it "
          "ends at {})",
          excerpt(entry.name), entry.offset,
          entry.offset < end ? "inside another" : "after a hole", end));
    }
    end += entry.bytes;  // both below 2^62, and checked as it grows
    if (end > data_bytes) {
      return bad(fmt::format(
          "is truncated: tensor '{}' ends at byte {} of the data, the file "
          "has {}",
          excerpt(entry.name), end, data_bytes));
    }
  }
  if (end != data_bytes) {
    return bad(
        fmt::format("has {} bytes of data, its tensors {}", data_bytes, end));
  }
  return std::move(reader.header);
}

Result<std::string> format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json[std::string(kMetadata)] = header.metadata;
  for (const auto& entry : header.entries) {
    if (entry.name == kMetadata || json.contains(entry.name)) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("the tensor name '{}' is taken", excerpt(entry.name))};
    }
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : entry.shape.dims()) sizes.push_back(dim.size);
    const auto type = std::find_if(
        std::begin(kTypes), std::end(kTypes),
        [&](const auto& known) { return known.second == entry.dtype; });
    json[entry.name] = {
        {"dtype", std::string(type->first)},
        {"shape", sizes},
        {"data_offsets", std::array{entry.offset, entry.offset + entry.bytes}}};
  }
  try {
    return json.dump();
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorCode::bad_input, "a name or text is not UTF-8"};
  }
}

}  // namespace plimsoll::io
