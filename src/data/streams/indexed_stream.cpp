#include "data/streams/indexed_stream.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "data/check.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kChunkBytes = 64 * kKiB;
constexpr std::int64_t kMostRows = 256;

class IndexedStream final : public Stream {
 public:
  explicit IndexedStream(std::shared_ptr<const Indexed> set)
      : set_(std::move(set)) {
    std::int64_t row_bytes = 1;
    bool fixed = true;
    for (const FieldSpec& field : set_->spec()) {
      row_bytes = std::max(row_bytes, field.most_bytes);
      fixed = fixed && field.shape.is_fixed();
    }
    if (fixed)
      rows_ = std::clamp<std::int64_t>(kChunkBytes / row_bytes, 1, kMostRows);
  }

  std::string name() const override { return set_->name(); }
  const ElementSpec& spec() const override { return set_->spec(); }
  std::int64_t count() const override { return set_->size(); }

  void place(Placer& placer) override {
    for (std::size_t i = 0; i < spec().size(); ++i) {
      buffers_[i] =
          placer.take(name(), "elements",
                      std::max<std::int64_t>(1, rows_) * spec()[i].most_bytes);
    }
    const std::int64_t bytes = set_->scratch_bytes();
    scratch_ = {placer.take(name(), "scratch", bytes),
                static_cast<std::size_t>(bytes)};
  }

  Status start(std::int64_t epoch) override {
    begin(epoch, 0);
    return {};
  }

  Result<bool> next(Element& out) override {
    if (position_ == set_->size()) return false;
    if (position_ >= end_ && position_ >= singly_to_ && rows_ > 0) gather();
    const std::int64_t number = position_++;
    if (number < end_) {
      give(number, out);
      return true;
    }
    // One at a time: shapes that vary, or a chunk with a bad element in it.
    out.offset = 0;
    out.file = -1;
    out.index = number;
    PLIMSOLL_RETURN_IF_ERROR(set_->read(
        number, out, {buffers_.data(), spec().size()}, {scratch_, epoch_}));
    return true;
  }

  void save(State& state) const override { state.push(position_); }
  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_ASSIGN(const std::int64_t at, state.next(0, set_->size()));
    begin(epoch, at);
    return {};
  }

  std::string whereabouts(const Element& element) const override {
    return set_->whereabouts(element.index);
  }

 private:
  void begin(std::int64_t epoch, std::int64_t position) {
    epoch_ = epoch;
    position_ = first_ = end_ = singly_to_ = position;
  }

  void gather() {
    const std::int64_t rows = std::min(rows_, set_->size() - position_);
    const auto count = static_cast<std::size_t>(rows);
    std::iota(numbers_.begin(), numbers_.begin() + rows, position_);
    std::array<std::byte*, kMostFields> to = buffers_;
    for (std::size_t i = 0; i < spec().size(); ++i) {
      borrowed_[i] = set_->borrow(static_cast<int>(i), position_);
      if (borrowed_[i] != nullptr) to[i] = nullptr;
    }
    const auto status =
        set_->gather({numbers_.data(), count}, {to.data(), spec().size()},
                     {scratch_, epoch_});
    first_ = position_;
    (status ? end_ : singly_to_) = position_ + rows;
    if (status) set_->origins({numbers_.data(), count}, epoch_);
  }

  void give(std::int64_t number, Element& out) const {
    const std::int64_t row = number - first_;
    out.index = numbers_[static_cast<std::size_t>(row)];
    out.offset = 0;
    out.file = -1;
    for (std::size_t i = 0; i < spec().size(); ++i) {
      const FieldSpec& field = spec()[i];
      const std::byte* const rows =
          borrowed_[i] != nullptr ? borrowed_[i] : buffers_[i];
      out.values[i] = {rows + row * field.most_bytes, field.most_bytes,
                       field.shape};
    }
  }

  std::shared_ptr<const Indexed> set_;
  std::int64_t rows_ = 0;  // in a chunk; 0: elements are read one by one
  std::array<std::byte*, kMostFields> buffers_{};
  std::array<const std::byte*, kMostFields> borrowed_{};
  std::array<std::int64_t, kMostRows> numbers_{};
  std::span<std::byte> scratch_;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
  std::int64_t first_ = 0;  // [first_, end_) is gathered
  std::int64_t end_ = 0;
  std::int64_t singly_to_ = 0;  // up to here gathering failed
};

}  // namespace

Result<std::unique_ptr<Stream>> indexed_stream(
    std::shared_ptr<const Indexed> set) {
  PLIMSOLL_RETURN_IF_ERROR(check_spec(set->name(), set->spec()));
  return std::unique_ptr<Stream>(
      std::make_unique<IndexedStream>(std::move(set)));
}

}  // namespace plimsoll::data
