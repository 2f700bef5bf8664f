#include "data/slot_filler.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <string>

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
    if (const auto wrong = find_wrong(i, spec[i].dtype, rows[i], count)) {
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
    const auto wrong = find_wrong(out, stacked);
    if (!wrong) return stacked;
    PLIMSOLL_ASSIGN(
        const std::int64_t example, without_exceptions(input_, [&] {
          return input_.stream->stacked_index(stacked - 1 - wrong->row);
        }));
    return error_of(*wrong, example);
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
      if (const auto wrong = find_wrong(i, spec[i].dtype, value.data, 1)) {
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

std::optional<IndexLimits::Wrong> SlotFiller::find_wrong(
    std::size_t field, DType dtype, const void* values,
    std::int64_t rows) const {
  if (is_floating(cast_of(field))) return std::nullopt;
  return limits_.find(field, dtype, values, rows);
}

std::optional<IndexLimits::Wrong> SlotFiller::find_wrong(
    const Element& batch, std::int64_t rows) const {
  for (std::size_t i = 0; i < input_.spec().size(); ++i) {
    const bool cast = !layout_.borrowed[i] && cast_of(i) != layout_.made[i];
    if (cast) continue;  // seen before
    auto wrong = find_wrong(i, cast_of(i), batch.values[i].data, rows);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

Error SlotFiller::error_of(const IndexLimits::Wrong& wrong,
                           std::int64_t example) const {
  const auto& [limit, row, value] = wrong;
  return {
      ErrorCode::io,
      fmt::format(
          "{}: example {} has {} {}, but the {} {} {}, from 0 to "
          "{}",
          input_.description, example, limit.classes ? "class" : "index", value,
          limit.classes ? "model has" : "embedding that reads it has",
          limit.below, limit.classes ? "classes" : "rows", limit.below - 1)};
}

Status SlotFiller::check_limits(std::int64_t epoch, std::int64_t first,
                                std::int64_t count,
                                const Element& batch) const {
  const auto wrong = find_wrong(batch, count);
  if (!wrong) return {};
  std::int64_t example = first + wrong->row;
  input_.set->origins({&example, 1}, epoch);
  return error_of(*wrong, example);
}

}  // namespace plimsoll::data
