// The header of an npy file is a Python dictionary with three known keys.
#include <fmt/core.h>

#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "io/npy.h"

namespace plimsoll::io {
namespace {

constexpr std::size_t kMostDimensions = 64;  // NumPy's own limit
constexpr std::size_t kMostQuoted = 60;      // of a file's text in an error

std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMostQuoted)) {
    out += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  return text.size() > kMostQuoted ? out + "..." : out;
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path)
      : text_(text), path_(path) {}

  Result<NpyHeader> parse();

 private:
  Error bad(const std::string& what) const {
    return {ErrorCode::bad_input, fmt::format("{}: {}", path_, what)};
  }
  Error malformed(std::string_view wanted) const {
    return bad(fmt::format(
        "the npy header is malformed at byte {}: expected {}, found \"{}\"",
        at_, wanted, excerpt(text_.substr(at_))));
  }

  void skip_space() {
    while (at_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    }
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string_view> take_string();
  Result<std::int64_t> take_size();
  Status take_value(std::string_view key);
  Status take_type();
  Status take_shape();

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::optional<DType> dtype_;
  std::optional<bool> fortran_;
  std::optional<std::vector<Dim>> dims_;
};

std::optional<std::string_view> HeaderParser::take_string() {
  skip_space();
  if (at_ >= text_.size()) return std::nullopt;
  const char quote = text_[at_];
  if (quote != '\'' && quote != '"') return std::nullopt;
  const auto end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto inside = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return inside;
}

Result<std::int64_t> HeaderParser::take_size() {
  skip_space();
  const auto start = at_;
  std::int64_t value = 0;
  while (at_ < text_.size() &&
         std::isdigit(static_cast<unsigned char>(text_[at_]))) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text_[at_] - '0', &value)) {
      at_ = start;
      return malformed("a size below 2^63");
    }
    ++at_;
  }
  if (at_ == start) return malformed("a size that is 0 or more");
  if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
  return value;
}

std::string_view kind_name(char kind) {
  switch (kind) {
    case 'c':
      return "complex numbers";
    case 'O':
      return "Python objects";
    case 'U':
    case 'S':
    case 'a':
      return "strings";
    case 'M':
    case 'm':
      return "dates or times";
    case 'V':
      return "raw or structured records";
    default:
      return "an unknown type";
  }
}

std::optional<DType> plain_type(std::string_view code) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16},
      {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32},
      {"i8", DType::i64}, {"u1", DType::u8},  {"u2", DType::u16},
      {"u4", DType::u32}, {"u8", DType::u64}, {"b1", DType::boolean}};
  for (const auto& [name, dtype] : kTypes) {
    if (name == code) return dtype;
  }
  return std::nullopt;
}

Status HeaderParser::take_type() {
  constexpr std::string_view kRight =
      "save it as f8, f4, f2, i1 to i8, u1 to u8 or bool";
  skip_space();
  if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
    return bad(fmt::format("holds structured records ({}); {}",
                           excerpt(text_.substr(at_)), kRight));
  }
  const auto descr = take_string();
  if (!descr) return malformed("a dtype such as '<f4'");
  std::string_view code = *descr;
  const char order = code.empty() ? '?' : code.front();
  if (order == '<' || order == '>' || order == '|' || order == '=') {
    code.remove_prefix(1);
  }
  dtype_ = plain_type(code);
  if (!dtype_) {
    return bad(fmt::format("holds {} (dtype '{}'); {}",
                           kind_name(code.empty() ? '?' : code.front()),
                           excerpt(*descr), kRight));
  }
  if (order == '>' && size_of(*dtype_) > 1) {
    return bad(
        fmt::format("holds big-endian numbers (dtype '{}'); save it "
                    "as little-endian '<{}'",
                    *descr, code));
  }
  return {};
}

Status HeaderParser::take_shape() {
  if (!take('(')) return malformed("a shape such as (1000, 20)");
  dims_.emplace();
  while (!take(')')) {
    if (!dims_->empty() && !take(',')) return malformed("',' or ')'");
    if (!dims_->empty() && take(')')) break;
    if (dims_->size() == kMostDimensions) {
      return bad(fmt::format("has more than {} dimensions", kMostDimensions));
    }
    PLIMSOLL_ASSIGN(const std::int64_t size, take_size());
    dims_->emplace_back(size);
  }
  return {};
}

Status HeaderParser::take_value(std::string_view key) {
  if (key == "descr" && !dtype_) return take_type();
  if (key == "shape" && !dims_) return take_shape();
  if (key == "fortran_order" && !fortran_) {
    if (take_word("True")) {
      fortran_ = true;
    } else if (take_word("False")) {
      fortran_ = false;
    } else {
      return malformed("True or False");
    }
    return {};
  }
  return bad(
      fmt::format("the npy header has '{}' twice or out of place; it "
                  "should have descr, fortran_order and shape",
                  excerpt(key)));
}

// Whether row-major and column-major order are the same.
bool order_free(const std::vector<Dim>& dims) {
  int longer = 0;
  for (const Dim& dim : dims) {
    if (dim.size == 0) return true;
    longer += dim.size > 1 ? 1 : 0;
  }
  return longer <= 1;
}

Result<NpyHeader> HeaderParser::parse() {
  if (!take('{')) return malformed("'{'");
  while (!take('}')) {
    const auto key = take_string();
    if (!key) return malformed("a key in quotes");
    if (!take(':')) return malformed("':'");
    PLIMSOLL_RETURN_IF_ERROR(take_value(*key));
    if (take(',')) continue;
    if (take('}')) break;
    return malformed("',' or '}'");
  }
  skip_space();
  if (at_ != text_.size()) return malformed("the end");
  if (!dtype_ || !fortran_ || !dims_) {
    return bad(fmt::format("the npy header has no {}", !dtype_ ? "descr"
                                                       : !dims_
                                                           ? "shape"
                                                           : "fortran_order"));
  }
  NpyHeader header{*dtype_, Shape(std::move(*dims_))};
  // Also with a zero among the sizes, no product of the others may overflow.
  std::int64_t bytes = size_of(header.dtype);
  for (const Dim& dim : header.shape.dims()) {
    if (dim.size != 0 && __builtin_mul_overflow(bytes, dim.size, &bytes)) {
      return bad(
          fmt::format("the npy header claims {} elements of {}: more "
                      "than any file can hold",
                      header.shape.to_string(), name_of(header.dtype)));
    }
  }
  if (*fortran_ && !order_free(header.shape.dims())) {
    return bad(
        fmt::format("holds {} in Fortran order; save it in C order "
                    "(NumPy: numpy.ascontiguousarray)",
                    header.shape.to_string()));
  }
  return header;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view dictionary,
                                   const std::string& path) {
  return HeaderParser(dictionary, path).parse();
}

}  // namespace plimsoll::io
