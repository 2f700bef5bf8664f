#include "data/views/mapped_view.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <utility>

#include "data/check.h"
#include "data/views/view_scratch.h"

namespace plimsoll::data {
namespace {

// Small enough to stay in the second-level cache beside what is made of it.
constexpr std::int64_t kChunkBytes = 64 * kKiB;

}  // namespace

Result<std::unique_ptr<MappedView>> MappedView::create(
    std::shared_ptr<const Indexed> input, std::shared_ptr<Map> map,
    std::uint64_t seed) {
  std::unique_ptr<MappedView> view(
      new MappedView(std::move(input), std::move(map), seed));
  PLIMSOLL_ASSIGN(view->spec_, view->map_->bind(view->input().spec()));
  PLIMSOLL_RETURN_IF_ERROR(check_spec(view->map_->name(), view->spec_));
  std::int64_t row_bytes = 0;
  for (const FieldSpec& field : view->input().spec()) {
    view->fixed_input_ = view->fixed_input_ && field.shape.is_fixed();
    row_bytes += field.most_bytes;
  }
  if (view->fixed_input_) {
    view->rows_at_once_ = std::clamp<std::int64_t>(
        kChunkBytes / std::max<std::int64_t>(row_bytes, 1), 1,
        static_cast<std::int64_t>(kNumbersAtOnce));
  }
  return view;
}

bool MappedView::passes(std::size_t field) const {
  return field < spec_.size() && field < input().spec().size() &&
         !map_->writes(static_cast<int>(field));
}

std::int64_t MappedView::scratch_bytes() const {
  std::int64_t bytes = ScratchParts::part_bytes(map_->scratch_bytes());
  for (const FieldSpec& field : input().spec()) {
    bytes += ScratchParts::part_bytes(rows_at_once_ * field.most_bytes);
  }
  return bytes + input().scratch_bytes();
}

const std::byte* MappedView::borrow(int field, std::int64_t first) const {
  return passes(static_cast<std::size_t>(field)) ? input().borrow(field, first)
                                                 : nullptr;
}

Status MappedView::apply(const Element& in, Element& out,
                         std::span<std::byte* const> buffers,
                         const MapContext& context) const {
  out.index = in.index;
  out.offset = in.offset;
  out.file = in.file;
  for (std::size_t i = 0; i < spec_.size(); ++i) {
    if (passes(i)) {
      out.values[i] = in.values[i];
    } else {
      out.values[i].data = buffers[i];
    }
  }
  auto status = map_->apply(in, out, buffers, context);
  if (status) return {};
  Error error = std::move(status).error();
  const std::string where = input().whereabouts(in.index);
  error.message = fmt::format("element {}{}: {}: {}", in.index,
                              where.empty() ? "" : fmt::format(" ({})", where),
                              map_->name(), error.message);
  return error;
}

Status MappedView::read(std::int64_t number, Element& out,
                        std::span<std::byte* const> buffers,
                        const ReadContext& context) const {
  ScratchParts parts(context.scratch);
  const MapContext how{{parts.take(map_->scratch_bytes()),
                        static_cast<std::size_t>(map_->scratch_bytes())},
                       seed_,
                       context.epoch};
  RowPointers between{};
  for (std::size_t i = 0; i < input().spec().size(); ++i) {
    std::byte* const part =
        parts.take(rows_at_once_ * input().spec()[i].most_bytes);
    between[i] = passes(i) ? buffers[i] : part;
  }
  Element in;
  PLIMSOLL_RETURN_IF_ERROR(
      input().read(number, in, between, {parts.rest(), context.epoch}));
  return apply(in, out, buffers, how);
}

Status MappedView::gather(std::span<const std::int64_t> numbers,
                          std::span<std::byte* const> rows,
                          const ReadContext& context) const {
  if (fixed_input_) return gather_fixed(numbers, rows, context);
  RowPointers at = row_pointers(rows);
  for (const std::int64_t number : numbers) {
    Element made;
    PLIMSOLL_RETURN_IF_ERROR(read(number, made, at, context));
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      if (at[i] == nullptr) continue;
      const Value& value = made.values[i];
      if (value.data != at[i]) {
        std::memcpy(at[i], value.data, static_cast<std::size_t>(value.bytes));
      }
    }
    at = behind(at, spec_, 1);
  }
  return {};
}

Status MappedView::gather_fixed(std::span<const std::int64_t> numbers,
                                std::span<std::byte* const> rows,
                                const ReadContext& context) const {
  const ElementSpec& from = input().spec();
  ScratchParts parts(context.scratch);
  const MapContext how{{parts.take(map_->scratch_bytes()),
                        static_cast<std::size_t>(map_->scratch_bytes())},
                       seed_,
                       context.epoch};
  RowPointers chunk{};  // the input's rows
  for (std::size_t i = 0; i < from.size(); ++i) {
    chunk[i] = parts.take(rows_at_once_ * from[i].most_bytes);
  }
  RowPointers at = row_pointers(rows);
  Element in;
  Element made;
  while (!numbers.empty()) {
    const auto now = numbers.first(
        std::min(numbers.size(), static_cast<std::size_t>(rows_at_once_)));
    numbers = numbers.subspan(now.size());
    // What the map leaves alone goes straight to where it is wanted.
    RowPointers between = chunk;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (passes(i) && at[i] != nullptr) between[i] = at[i];
    }
    PLIMSOLL_RETURN_IF_ERROR(
        input().gather(now, between, {parts.rest(), context.epoch}));
    std::array<std::int64_t, kNumbersAtOnce> origin;
    std::copy(now.begin(), now.end(), origin.begin());
    input().origins({origin.data(), now.size()}, context.epoch);
    for (std::size_t k = 0; k < now.size(); ++k) {
      in.index = origin[k];
      for (std::size_t i = 0; i < from.size(); ++i) {
        in.values[i] = {
            between[i] + static_cast<std::int64_t>(k) * from[i].most_bytes,
            from[i].most_bytes, from[i].shape};
      }
      const RowPointers row = behind(at, spec_, k);
      PLIMSOLL_RETURN_IF_ERROR(apply(in, made, row, how));
      for (std::size_t i = 0; i < spec_.size(); ++i) {
        // A reshape hands on what it got.
        const Value& value = made.values[i];
        if (row[i] == nullptr || value.data == row[i]) continue;
        std::memcpy(row[i], value.data, static_cast<std::size_t>(value.bytes));
      }
    }
    at = behind(at, spec_, now.size());
  }
  return {};
}

}  // namespace plimsoll::data
