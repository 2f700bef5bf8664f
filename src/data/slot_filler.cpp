#include "data/slot_filler.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>

#include "base/units.h"
#include "io/convert.h"

namespace plimsoll::data {
namespace {

std::byte* writable(const Value& value) {
  return const_cast<std::byte*>(value.data);
}

// What an input of the user's own throws becomes an error.
template <class Body>
auto without_exceptions(const Input& input, const Body& body)
    -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::internal,
                 fmt::format("{}: {}", input.description, thrown.what())};
  }
}

struct Outside {
  std::int64_t position = 0;
  std::string value;
};

// The first in the limit's columns that is no whole number from 0 to below it;
// asked before a cast, which would make one of it.
std::optional<Outside> first_outside(DType dtype, const void* values,
                                     std::int64_t count, std::int64_t columns,
                                     const IndexLimit& limit) {
  constexpr std::int64_t kBlock = 64;
  const auto* const bytes = static_cast<const std::byte*>(values);
  const bool all = limit.begin <= 0 && limit.end >= columns;
  const auto search = [&](DType wide, auto block) -> std::optional<Outside> {
    for (std::int64_t i = 0; i < count; i += kBlock) {
      const std::int64_t here = std::min(kBlock, count - i);
      io::convert(dtype, bytes + i * size_of(dtype), wide, block.data(), here);
      for (std::int64_t j = 0; j < here; ++j) {
        const auto value = block[static_cast<std::size_t>(j)];
        using Number = std::remove_const_t<decltype(value)>;
        bool fits = value >= 0 && value < static_cast<Number>(limit.below);
        if constexpr (std::is_floating_point_v<Number>) {
          fits = fits && value == std::floor(value);
        }
        if (fits) continue;
        if (const std::int64_t column = (i + j) % columns;
            !all && (column < limit.begin || column >= limit.end)) {
          continue;
        }
        return Outside{i + j,
                       dtype == DType::f64 || !is_floating(dtype)
                           ? fmt::format("{}", value)
                           : fmt::format("{}", static_cast<float>(value))};
      }
    }
    return std::nullopt;
  };
  return is_floating(dtype)
             ? search(DType::f64, std::array<double, kBlock>())
             : search(DType::i64, std::array<std::int64_t, kBlock>());
}

}  // namespace

DType SlotFiller::cast_of(std::size_t field) const {
  return options_.as.empty() ? input_.spec()[field].dtype : options_.as[field];
}

void SlotFiller::describe(int slot, std::int64_t first, std::int64_t count,
                          Element& out) const {
  const ElementSpec& spec = input_.spec();
  out.index = first;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    Value& value = out.values[i];
    value.data =
        layout_.borrowed[i]
            ? input_.set->borrow(static_cast<int>(i), first)
            : memory_ + slot * layout_.slot_bytes + layout_.field_offsets[i];
    value.shape.rank = spec[i].shape.rank + 1;
    value.shape.sizes[0] = count;
    std::copy_n(spec[i].shape.sizes.begin(), spec[i].shape.rank,
                value.shape.sizes.begin() + 1);
    value.bytes = count * spec[i].shape.elements() * size_of(cast_of(i));
  }
}

Status SlotFiller::fill_from_set(int reader, std::int64_t epoch,
                                 std::int64_t first, std::int64_t count,
                                 Element& out) const {
  std::byte* at =
      memory_ + layout_.readers_offset + reader * layout_.reader_bytes();
  auto* const numbers = reinterpret_cast<std::int64_t*>(at);
  std::byte* const cast = at + layout_.numbers_bytes;
  const ReadContext how{{cast + layout_.cast_bytes,
                         static_cast<std::size_t>(layout_.scratch_bytes)},
                        epoch,
                        layout_.made};
  std::iota(numbers, numbers + count, first);
  const std::int64_t step = layout_.cast_rows > 0 ? layout_.cast_rows : count;
  for (std::int64_t done = 0; done < count; done += step) {
    const std::span now(numbers + done,
                        static_cast<std::size_t>(std::min(step, count - done)));
    PLIMSOLL_RETURN_IF_ERROR(without_exceptions(
        input_, [&] { return gather(now, done, out, cast, how); }));
  }
  return check_limits(epoch, first, count, out);
}

Status SlotFiller::gather(std::span<const std::int64_t> numbers,
                          std::int64_t done, Element& out, std::byte* cast,
                          const ReadContext& how) const {
  const ElementSpec& spec = input_.spec();
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::array<std::byte*, kMostFields> rows{};
  for (std::size_t i = 0; i < spec.size(); ++i) {
    if (layout_.borrowed[i]) continue;
    if (cast_of(i) == layout_.made[i]) {
      rows[i] = writable(out.values[i]) + done * how.row_bytes(spec, i);
    } else {
      rows[i] = cast;
      cast += layout_.cast_rows * round_up(spec[i].most_bytes, 64);
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(input_.set->gather(numbers, rows, how));
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const DType as = cast_of(i);
    if (layout_.borrowed[i] || as == layout_.made[i]) continue;
    const std::int64_t elements = spec[i].shape.elements();
    if (const auto wrong =
            find_wrong(i, spec[i].dtype, rows[i], count * elements)) {
      std::int64_t example = numbers[static_cast<std::size_t>(wrong->row)];
      input_.set->origins({&example, 1}, how.epoch);
      return error_of(*wrong, example);
    }
    io::convert(spec[i].dtype, rows[i], as,
                writable(out.values[i]) + done * elements * size_of(as),
                count * elements);
  }
  return {};
}

Result<std::int64_t> SlotFiller::stack_from_stream(const Element& out) const {
  const ElementSpec& spec = input_.spec();
  std::array<std::byte*, kMostFields> rows{};
  for (std::size_t i = 0; i < spec.size(); ++i) {
    if (cast_of(i) != spec[i].dtype) return kUnknownCount;
    rows[i] = writable(out.values[i]);
  }
  return without_exceptions(input_, [&] {
    return input_.stream->next_rows(options_.batch, {rows.data(), spec.size()});
  });
}

Result<std::int64_t> SlotFiller::fill_from_stream(Element& out) const {
  const ElementSpec& spec = input_.spec();
  PLIMSOLL_ASSIGN(const std::int64_t stacked, stack_from_stream(out));
  if (stacked != kUnknownCount) {
    PLIMSOLL_RETURN_IF_ERROR(check_limits(0, out.index, stacked, out));
    return stacked;
  }
  Element element;
  for (std::int64_t count = 0; count < options_.batch; ++count) {
    PLIMSOLL_ASSIGN(const bool more, without_exceptions(input_, [&] {
                      return input_.stream->next(element);
                    }));
    if (!more) return count;
    for (std::size_t i = 0; i < spec.size(); ++i) {
      const Value& value = element.values[i];
      if (value.shape != spec[i].shape) {
        const std::string where = input_.stream->whereabouts(element);
        return Error{
            ErrorCode::bad_input,
            fmt::format("ragged batch: element {}{} has `{}` of shape {}, not "
                        "{}",
                        element.index,
                        where.empty() ? "" : fmt::format(" ({})", where),
                        spec[i].name, to_string(value.shape),
                        to_string(spec[i].shape))};
      }
      const DType as = cast_of(i);
      const std::int64_t elements = spec[i].shape.elements();
      std::byte* const row =
          writable(out.values[i]) + count * elements * size_of(as);
      if (const auto wrong =
              find_wrong(i, spec[i].dtype, value.data, elements)) {
        return error_of(*wrong, element.index);
      }
      if (as == spec[i].dtype) {
        std::memcpy(row, value.data, static_cast<std::size_t>(value.bytes));
      } else {
        io::convert(spec[i].dtype, value.data, as, row, elements);
      }
    }
  }
  return options_.batch;
}

std::optional<SlotFiller::Wrong> SlotFiller::find_wrong(
    std::size_t field, DType dtype, const void* values,
    std::int64_t count) const {
  if (is_floating(cast_of(field))) return std::nullopt;
  for (const IndexLimit& limit : options_.limits) {
    if (static_cast<std::size_t>(limit.field) != field) continue;
    const auto& shape = input_.spec()[field].shape;
    const std::int64_t columns = shape.rank > 0 ? shape[shape.rank - 1] : 1;
    auto outside = first_outside(dtype, values, count, columns, limit);
    if (!outside) continue;
    const std::int64_t width = shape.elements();
    return Wrong{&limit, outside->position / width, std::move(outside->value)};
  }
  return std::nullopt;
}

Error SlotFiller::error_of(const Wrong& wrong, std::int64_t example) const {
  const bool classes = wrong.limit->classes;
  const std::int64_t below = wrong.limit->below;
  return {ErrorCode::io,
          fmt::format("{}: example {} has {} {}, but the {} {} {}, from 0 to "
                      "{}",
                      input_.description, example, classes ? "class" : "index",
                      wrong.value,
                      classes ? "model has" : "embedding that reads it has",
                      below, classes ? "classes" : "rows", below - 1)};
}

Status SlotFiller::check_limits(std::int64_t epoch, std::int64_t first,
                                std::int64_t count,
                                const Element& batch) const {
  const ElementSpec& spec = input_.spec();
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const auto wrong = find_wrong(i, cast_of(i), batch.values[i].data,
                                  count * spec[i].shape.elements());
    if (!wrong) continue;
    std::int64_t example = first + wrong->row;
    if (input_.set) input_.set->origins({&example, 1}, epoch);
    return error_of(*wrong, example);
  }
  return {};
}

}  // namespace plimsoll::data
