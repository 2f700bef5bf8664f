#include "data/maps/parse_number.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/convert.h"

namespace plimsoll::data {
namespace {

class ParseNumber final : public OneFieldMap {
 public:
  explicit ParseNumber(ParseNumberOptions options)
      : OneFieldMap("parse_number", std::move(options.field)),
        to_(options.to) {}

 protected:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (in.dtype != DType::u8 || in.shape.rank != 1) {
      return bad(fmt::format("field `{}` is {} {}, not bytes", in.name,
                             name_of(in.dtype), to_string(in.shape)));
    }
    return fixed_field(in.name, to_, {});
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t, const MapContext&) const override {
    std::string_view text(reinterpret_cast<const char*>(in.data),
                          static_cast<std::size_t>(in.bytes));
    constexpr std::string_view kBlank = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    text = text.substr(0, text.find_last_not_of(kBlank) + 1);
    const char* const end = text.data() + text.size();
    std::int64_t whole = 0;
    const auto integer = std::from_chars(text.data(), end, whole);
    if (integer.ec == std::errc() && integer.ptr == end && !text.empty()) {
      io::convert(DType::i64, &whole, to_, buffer, 1);
    } else {
      double number = 0;
      const auto real = std::from_chars(text.data(), end, number);
      if (real.ec != std::errc() || real.ptr != end || text.empty()) {
        return wrong(fmt::format("`{}` is not a number", text.substr(0, 40)));
      }
      io::convert(DType::f64, &number, to_, buffer, 1);
    }
    return set_shape(out, {});
  }

 private:
  DType to_;
};

}  // namespace

std::unique_ptr<Map> parse_number(ParseNumberOptions options) {
  return std::make_unique<ParseNumber>(std::move(options));
}

}  // namespace plimsoll::data
