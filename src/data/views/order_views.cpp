#include "data/views/order_views.h"

#include <fmt/core.h>

#include <array>

#include "data/check.h"
#include "data/permutation.h"
#include "data/views/view_scratch.h"

namespace plimsoll::data {

Status OrderView::read(std::int64_t number, Element& out,
                       std::span<std::byte* const> buffers,
                       const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, {&number, 1}));
  translate({&number, 1}, context.epoch);
  return input().read(number, out, buffers, context);
}

Status OrderView::gather(std::span<const std::int64_t> numbers,
                         std::span<std::byte* const> rows,
                         const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  RowPointers at = row_pointers(rows);
  std::array<std::int64_t, kNumbersAtOnce> beneath;
  while (!numbers.empty()) {
    const auto now = numbers.first(std::min(numbers.size(), kNumbersAtOnce));
    const std::span translated(beneath.data(), now.size());
    std::copy(now.begin(), now.end(), translated.begin());
    translate(translated, context.epoch);
    PLIMSOLL_RETURN_IF_ERROR(input().gather(translated, at, context));
    for (std::size_t i = 0; i < spec().size(); ++i) {
      if (at[i] == nullptr) continue;
      at[i] += context.row_bytes(spec(), i) * std::ssize(now);
    }
    numbers = numbers.subspan(now.size());
  }
  return {};
}

void OrderView::origins(std::span<std::int64_t> numbers,
                        std::int64_t epoch) const {
  translate(numbers, epoch);
  input().origins(numbers, epoch);
}

void ShuffledView::translate(std::span<std::int64_t> numbers,
                             std::int64_t epoch) const {
  const Permutation order(size(), seed_, static_cast<std::uint64_t>(epoch));
  for (std::int64_t& number : numbers) number = order(number);
}

Result<std::unique_ptr<SlicedView>> SlicedView::take(
    std::shared_ptr<const Indexed> input, std::int64_t count) {
  if (count < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("take {}: at least 1 is needed", count)};
  }
  const std::int64_t size = std::min(count, input->size());
  return std::unique_ptr<SlicedView>(
      new SlicedView("take", std::move(input), 0, 1, size));
}

Result<std::unique_ptr<SlicedView>> SlicedView::skip(
    std::shared_ptr<const Indexed> input, std::int64_t count) {
  const std::int64_t size = input->size();
  if (count < 0 || count >= size) {
    return Error{ErrorCode::bad_input,
                 fmt::format("skip {}: 0 to {} leave something of {} elements",
                             count, size - 1, size)};
  }
  return std::unique_ptr<SlicedView>(
      new SlicedView("skip", std::move(input), count, 1, size - count));
}

Result<std::unique_ptr<SlicedView>> SlicedView::shard(
    std::shared_ptr<const Indexed> input, std::int64_t index,
    std::int64_t count) {
  const std::int64_t size = input->size();
  if (count < 1 || index < 0 || index >= count || index >= size) {
    return Error{ErrorCode::bad_input,
                 fmt::format("shard {} of {}: the index must be from 0 to "
                             "count - 1, and below the {} elements",
                             index, count, size)};
  }
  return std::unique_ptr<SlicedView>(
      new SlicedView("shard", std::move(input), index, count,
                     (size - index + count - 1) / count));
}

void SlicedView::translate(std::span<std::int64_t> numbers,
                           std::int64_t /*epoch*/) const {
  for (std::int64_t& number : numbers) number = first_ + number * step_;
}

Result<std::unique_ptr<RepeatedView>> RepeatedView::create(
    std::shared_ptr<const Indexed> input, std::int64_t count) {
  const std::int64_t most = (std::int64_t{1} << 60) / input->size();
  if (count < 1 || count > most) {
    return Error{ErrorCode::bad_input,
                 fmt::format("repeat {}: 1 to {} can be", count, most)};
  }
  return std::unique_ptr<RepeatedView>(
      new RepeatedView(std::move(input), count));
}

Status RepeatedView::read(std::int64_t number, Element& out,
                          std::span<std::byte* const> buffers,
                          const ReadContext& context) const {
  const std::int64_t size = input().size();
  return input().read(
      number % size, out, buffers,
      {context.scratch, context.epoch * count_ + number / size});
}

void RepeatedView::origins(std::span<std::int64_t> numbers,
                           std::int64_t epoch) const {
  const std::int64_t size = input().size();
  for (std::int64_t& number : numbers) {
    const std::int64_t repetition = number / size;
    number %= size;
    input().origins({&number, 1}, epoch * count_ + repetition);
  }
}

Status RepeatedView::gather(std::span<const std::int64_t> numbers,
                            std::span<std::byte* const> rows,
                            const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  const std::int64_t size = input().size();
  RowPointers at = row_pointers(rows);
  std::array<std::int64_t, kNumbersAtOnce> beneath;
  while (!numbers.empty()) {
    // A call beneath has one epoch: a repetition's end ends it.
    const std::int64_t repetition = numbers[0] / size;
    std::size_t count = 0;
    while (count < std::min(numbers.size(), kNumbersAtOnce) &&
           numbers[count] / size == repetition) {
      beneath[count] = numbers[count] % size;
      ++count;
    }
    PLIMSOLL_RETURN_IF_ERROR(
        input().gather({beneath.data(), count}, at,
                       {context.scratch, context.epoch * count_ + repetition}));
    at = behind(at, spec(), count);
    numbers = numbers.subspan(count);
  }
  return {};
}

}  // namespace plimsoll::data
