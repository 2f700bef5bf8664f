#include "data/index_limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "io/convert.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

// A wrong value as it lies in the data: `wide` holds no u64 above i64's.
template <class Number>
std::string text_of(DType dtype, const std::byte* at, Number wide) {
  if (dtype == DType::u64) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return fmt::format("{}", value);
  }
  if (dtype == DType::f64 || !is_floating(dtype)) {
    return fmt::format("{}", wide);
  }
  return fmt::format("{}", static_cast<float>(wide));
}

template <class Number>
bool is_index(Number value, std::int64_t below) {
  if constexpr (std::is_floating_point_v<Number>) {
    return value >= 0 && value < static_cast<Number>(below) &&
           value == std::floor(value);
  } else {
    return value >= 0 && value < below;
  }
}

}  // namespace

IndexLimits::IndexLimits(const ElementSpec& spec,
                         const std::vector<IndexLimit>& limits)
    : fields_(spec.size()) {
  for (const IndexLimit& limit : limits) {
    const auto number = static_cast<std::size_t>(limit.field);
    if (number >= fields_.size()) continue;
    Field& field = fields_[number];
    const auto& shape = spec[number].shape;
    const std::int64_t columns = shape.rank > 0 ? shape[shape.rank - 1] : 1;
    field.width = shape.elements();
    if (field.of_column.empty()) {
      field.of_column.resize(static_cast<std::size_t>(columns),
                             IndexLimit{.below = kAny});
    }
    for (std::int64_t column = limit.begin;
         column < std::min(limit.end, columns); ++column) {
      IndexLimit& known = field.of_column[static_cast<std::size_t>(column)];
      if (limit.below < known.below) known = limit;
    }
  }
}

std::optional<IndexLimits::Wrong> IndexLimits::find(std::size_t field,
                                                    DType dtype,
                                                    const void* values,
                                                    std::int64_t rows) const {
  constexpr std::int64_t kBlock = 64;
  const std::int64_t width = fields_[field].width;
  const std::vector<IndexLimit>& of_column = fields_[field].of_column;
  if (of_column.empty()) return std::nullopt;
  const auto* const bytes = static_cast<const std::byte*>(values);
  const std::int64_t count = rows * width;
  const auto search = [&](DType wide, auto block) -> std::optional<Wrong> {
    std::size_t column = 0;
    for (std::int64_t i = 0; i < count; i += kBlock) {
      const std::int64_t here = std::min(kBlock, count - i);
      io::convert(dtype, bytes + i * size_of(dtype), wide, block.data(), here);
      for (std::int64_t j = 0; j < here; ++j) {
        const auto value = block[static_cast<std::size_t>(j)];
        const IndexLimit& limit = of_column[column];
        if (++column == of_column.size()) column = 0;
        if (limit.below == kAny || is_index(value, limit.below)) continue;
        return Wrong{limit, (i + j) / width,
                     text_of(dtype, bytes + (i + j) * size_of(dtype), value)};
      }
    }
    return std::nullopt;
  };
  return is_floating(dtype)
             ? search(DType::f64, std::array<double, kBlock>())
             : search(DType::i64, std::array<std::int64_t, kBlock>());
}

}  // namespace plimsoll::data
