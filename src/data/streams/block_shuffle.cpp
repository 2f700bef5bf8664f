#include "data/streams/block_shuffle.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/hash.h"
#include "data/check.h"

namespace plimsoll::data {

Result<std::unique_ptr<BlockShuffle>> BlockShuffle::create(
    std::shared_ptr<const Indexed> set, const BlockShuffleOptions& options) {
  std::int64_t element_bytes = 0;
  for (const FieldSpec& field : set->spec()) {
    element_bytes += field.most_bytes;
    if (field.shape.is_fixed()) continue;
    return Error{ErrorCode::bad_input,
                 fmt::format("shuffle by blocks: field `{}` has shape {}, and "
                             "blocks need elements of one size",
                             field.name, to_string(field.shape))};
  }
  std::unique_ptr<BlockShuffle> stream(
      new BlockShuffle(std::move(set), options.seed));
  const std::int64_t size = stream->set_->size();
  element_bytes = std::max<std::int64_t>(element_bytes, 1);
  stream->block_ = std::clamp<std::int64_t>(
      (options.block_bytes + element_bytes - 1) / element_bytes, 1, size);
  const std::int64_t blocks = (size + stream->block_ - 1) / stream->block_;
  stream->window_blocks_ = std::clamp<std::int64_t>(
      options.window_bytes / (stream->block_ * element_bytes), 1, blocks);
  return stream;
}

void BlockShuffle::place(Placer& placer) {
  const std::int64_t elements = window_elements();
  for (std::size_t i = 0; i < spec().size(); ++i) {
    rows_[i] = placer.take(name(), "window", elements * spec()[i].most_bytes);
  }
  numbers_ = reinterpret_cast<std::int64_t*>(
      placer.take(name(), "numbers",
                  elements * static_cast<std::int64_t>(sizeof(std::int64_t))));
  scratch_ = {placer.take(name(), "scratch", set_->scratch_bytes()),
              static_cast<std::size_t>(set_->scratch_bytes())};
}

Status BlockShuffle::start(std::int64_t epoch) {
  epoch_ = epoch;
  position_ = 0;
  loaded_ = -1;
  blocks_.emplace(set_->size() / block_, seed_,
                  static_cast<std::uint64_t>(epoch));
  return {};
}

// Whole blocks come in random order; what is left of the set joins the last
// window, so that every window before it is full and begins where it must.
Status BlockShuffle::load_window(std::int64_t window) {
  const std::int64_t size = set_->size();
  const std::int64_t whole = blocks_->size();
  const std::int64_t first = window * window_blocks_;
  loaded_ = -1;
  in_window_ = 0;
  std::array<std::byte*, kMostFields> at = rows_;
  for (std::int64_t i = first; i < first + window_blocks_; ++i) {
    const std::int64_t start = (i < whole ? (*blocks_)(i) : i) * block_;
    if (start >= size) break;
    const std::int64_t count = std::min(block_, size - start);
    std::int64_t* const numbers = numbers_ + in_window_;
    std::iota(numbers, numbers + count, start);
    PLIMSOLL_RETURN_IF_ERROR(set_->gather(
        {numbers, static_cast<std::size_t>(count)}, at, {scratch_, epoch_}));
    for (std::size_t k = 0; k < spec().size(); ++k) {
      at[k] += count * spec()[k].most_bytes;
    }
    in_window_ += count;
  }
  set_->origins({numbers_, static_cast<std::size_t>(in_window_)}, epoch_);
  order_.emplace(in_window_, stable_hash("data.shuffle.window", seed_),
                 static_cast<std::uint64_t>(epoch_ * (whole + 1) + window));
  loaded_ = window;
  return {};
}

Result<bool> BlockShuffle::next(Element& out) {
  if (position_ >= count()) return false;
  const std::int64_t window = position_ / window_elements();
  if (window != loaded_) PLIMSOLL_RETURN_IF_ERROR(load_window(window));
  const std::int64_t row = (*order_)(position_ - window * window_elements());
  out.index = numbers_[row];
  out.file = -1;
  for (std::size_t i = 0; i < spec().size(); ++i) {
    const std::int64_t bytes = spec()[i].most_bytes;
    out.values[i] = {rows_[i] + row * bytes, bytes, spec()[i].shape};
  }
  ++position_;
  return true;
}

Status BlockShuffle::restore(std::int64_t epoch, StateReader& state) {
  PLIMSOLL_ASSIGN(const std::int64_t position, state.next(0, count()));
  PLIMSOLL_RETURN_IF_ERROR(start(epoch));
  position_ = position;
  return {};
}

}  // namespace plimsoll::data
