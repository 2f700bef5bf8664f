#include "data/streams/block_shuffle.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace plimsoll::data {
namespace {

// A window is larger than the caches near a core: a few rows asked for ahead
// keep as many lines under way as it can have.
constexpr std::int64_t kRowsAhead = 8;
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kMostBytesAhead = 16 * kLineBytes;

// Copies the rows order[first] to order[first + count - 1] of all there are.
void copy_rows(const std::byte* from, std::int64_t row_bytes,
               std::span<const std::uint32_t> order, std::int64_t first,
               std::int64_t count, std::byte* to) {
  const auto bytes = static_cast<std::size_t>(row_bytes);
  const std::int64_t ahead_bytes = std::min(row_bytes, kMostBytesAhead);
  const auto last = static_cast<std::int64_t>(order.size()) - 1;
  for (std::int64_t i = first; i < first + count; ++i) {
    const auto ahead = static_cast<std::size_t>(std::min(i + kRowsAhead, last));
    const std::byte* const soon = from + order[ahead] * row_bytes;
    for (std::int64_t at = 0; at < ahead_bytes; at += kLineBytes) {
      __builtin_prefetch(soon + at);
    }
    const std::uint32_t row = order[static_cast<std::size_t>(i)];
    std::memcpy(to, from + row * row_bytes, bytes);
    to += row_bytes;
  }
}

}  // namespace

Result<std::unique_ptr<BlockShuffle>> BlockShuffle::create(
    std::shared_ptr<const Indexed> set, const BlockShuffleOptions& options) {
  for (const FieldSpec& field : set->spec()) {
    if (field.shape.is_fixed()) continue;
    return Error{ErrorCode::bad_input,
                 fmt::format("shuffle by blocks: field `{}` has shape {}, and "
                             "blocks need elements of one size",
                             field.name, to_string(field.shape))};
  }
  return std::unique_ptr<BlockShuffle>(
      new BlockShuffle(std::move(set), options));
}

Status BlockShuffle::start(std::int64_t epoch) {
  position_ = 0;
  windows_.start(epoch);
  return {};
}

Result<bool> BlockShuffle::next(Element& out) {
  if (position_ >= count()) return false;
  PLIMSOLL_ASSIGN(const auto* const window,
                  windows_.get(position_ / window_elements()));
  const std::int64_t row = window->order[position_ % window_elements()];
  out.index = window->numbers[row];
  out.offset = 0;
  out.file = -1;
  for (std::size_t i = 0; i < spec().size(); ++i) {
    const std::int64_t bytes = spec()[i].most_bytes;
    out.values[i] = {window->rows[i] + row * bytes, bytes, spec()[i].shape};
  }
  ++position_;
  return true;
}

Result<std::int64_t> BlockShuffle::next_rows(std::int64_t most,
                                             std::span<std::byte* const> rows) {
  std::int64_t done = 0;
  while (done < most && position_ < count()) {
    PLIMSOLL_ASSIGN(const auto* const window,
                    windows_.get(position_ / window_elements()));
    const std::int64_t first = position_ % window_elements();
    const std::int64_t now = std::min(most - done, window->elements - first);
    const std::span order(window->order,
                          static_cast<std::size_t>(window->elements));
    for (std::size_t i = 0; i < spec().size(); ++i) {
      const std::int64_t bytes = spec()[i].most_bytes;
      copy_rows(window->rows[i], bytes, order, first, now,
                rows[i] + done * bytes);
    }
    done += now;
    position_ += now;
  }
  return done;
}

Result<std::int64_t> BlockShuffle::stacked_index(std::int64_t before) {
  const std::int64_t position = position_ - 1 - before;
  PLIMSOLL_ASSIGN(const auto* const window,
                  windows_.get(position / window_elements()));
  return window->numbers[window->order[position % window_elements()]];
}

Status BlockShuffle::restore(std::int64_t epoch, StateReader& state) {
  PLIMSOLL_ASSIGN(const std::int64_t position, state.next(0, count()));
  PLIMSOLL_RETURN_IF_ERROR(start(epoch));
  position_ = position;
  return {};
}

}  // namespace plimsoll::data
