#include "data/streams/shuffle_window_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/philox.h"
#include "data/streams/element_slots.h"
#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

// Keys count in fractions of a place, so that two are rarely equal.
constexpr int kFractionBits = 16;
// Keys stay within 63 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 46;
constexpr std::int64_t kMostWindow = std::int64_t{1} << 31;
constexpr std::int64_t kMostKey = std::int64_t{1} << 62;

struct Held {
  std::int64_t key;
  std::int64_t ordinal;
  std::int64_t slot;
};

bool comes_later(const Held& a, const Held& b) {
  return a.key != b.key ? a.key > b.key : a.ordinal > b.ordinal;
}

class ShuffleWindowStream final : public Stage {
 public:
  ShuffleWindowStream(std::unique_ptr<Stream> input,
                      const ShuffleWindowOptions& options)
      : Stage(std::move(input)),
        window_(options.elements),
        seed_(options.seed),
        slots_(input_->spec()) {}

  std::string name() const override { return "shuffle"; }
  std::int64_t count() const override { return input_->count(); }
  // One more than are held: the one given last is still in use.
  std::int64_t slot_count() const { return window_ + 1; }
  const ElementSlots& slots() const { return slots_; }

  void place(Placer& placer) override {
    input_->place(placer);
    slots_.place(placer, name(), "window", slot_count());
    const auto bytes = [&](std::size_t one) {
      return slot_count() * static_cast<std::int64_t>(one);
    };
    heap_ = reinterpret_cast<Held*>(
        placer.take(name(), "order", bytes(sizeof(Held))));
    free_ = reinterpret_cast<std::int64_t*>(
        placer.take(name(), "free slots", bytes(sizeof(std::int64_t))));
  }

  Status start(std::int64_t epoch) override {
    PLIMSOLL_RETURN_IF_ERROR(input_->start(epoch));
    begin(epoch, 0);
    return {};
  }

  Result<bool> next(Element& out) override {
    if (given_ >= 0) free_[free_count_++] = std::exchange(given_, -1);
    // No element to come has a key below that of its own place.
    while (!ended_ && (held_ == 0 || heap_[0].key > key_of_place(read_))) {
      PLIMSOLL_ASSIGN(const bool got, read_one());
      if (!got) ended_ = true;
    }
    if (held_ == 0) return false;
    std::pop_heap(heap_, heap_ + held_, comes_later);
    const Held& least = heap_[--held_];
    slots_.get(least.slot, out);
    given_ = least.slot;
    last_key_ = least.key;
    last_ordinal_ = least.ordinal;
    return true;
  }

  void save(State& state) const override {
    const std::int64_t earliest = earliest_needed();
    const Snapshot& from = snapshots_[ring_place(earliest)];
    if (from.ordinal == earliest) {
      state.append(from.input);
      state.push(earliest);
    } else {  // nothing has been read yet
      input_->save(state);
      state.push(read_);
    }
    state.push(read_);
    state.push(last_key_);
    state.push(last_ordinal_);
  }

  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_RETURN_IF_ERROR(input_->restore(epoch, state));
    PLIMSOLL_ASSIGN(const std::int64_t first, state.next(0, kMostElements));
    PLIMSOLL_ASSIGN(const std::int64_t read, state.next(first, kMostElements));
    PLIMSOLL_ASSIGN(const std::int64_t key, state.next(-1, kMostKey));
    PLIMSOLL_ASSIGN(const std::int64_t ordinal, state.next(-1, kMostElements));
    if (first % window_ != 0 || read - first > 2 * window_) {
      return Error{ErrorCode::bad_input,
                   fmt::format("shuffle: the saved position belongs to another "
                               "window than {} elements",
                               window_)};
    }
    begin(epoch, first);
    last_key_ = key;
    last_ordinal_ = ordinal;
    return read_again(read);
  }

 private:
  struct Snapshot {
    State input;
    std::int64_t ordinal = -1;  // of the element that follows
  };

  static std::int64_t key_of_place(std::int64_t ordinal) {
    return ordinal << kFractionBits;
  }

  std::int64_t key_of(std::int64_t ordinal) const {
    const PhiloxBlock block =
        philox(seed_ ^ 0x77696e646f770000, static_cast<std::uint64_t>(epoch_),
               static_cast<std::uint64_t>(ordinal));
    const std::uint64_t bits =
        static_cast<std::uint64_t>(block[0]) << 32 | block[1];
    const auto range = static_cast<std::uint64_t>(window_) << kFractionBits;
    return key_of_place(ordinal) + static_cast<std::int64_t>(bits % range);
  }

  void begin(std::int64_t epoch, std::int64_t ordinal) {
    epoch_ = epoch;
    read_ = ordinal;
    held_ = 0;
    ended_ = false;
    given_ = -1;
    last_key_ = last_ordinal_ = -1;
    free_count_ = 0;
    for (std::int64_t i = slot_count(); i-- > 0;) free_[free_count_++] = i;
    for (Snapshot& snapshot : snapshots_) snapshot.ordinal = -1;
  }

  // Takes the next element in, unless it was given before the restored
  // position; false at the input's end.
  Result<bool> read_one() {
    if (read_ % window_ == 0) snapshot();
    PLIMSOLL_ASSIGN(const bool got, input_->next(element_));
    if (!got) return false;
    if (read_ >= kMostElements) {
      return Error{ErrorCode::bad_input,
                   "shuffle: more than 2^46 elements in an epoch"};
    }
    Held held = {key_of(read_), read_, 0};
    ++read_;
    const bool given_before =
        held.key < last_key_ ||
        (held.key == last_key_ && held.ordinal <= last_ordinal_);
    if (given_before) return true;
    if (free_count_ == 0) {  // only after restoring a position that is wrong
      return Error{ErrorCode::bad_input,
                   "shuffle: the saved position belongs to another pipeline"};
    }
    held.slot = free_[free_count_ - 1];
    PLIMSOLL_RETURN_IF_ERROR(slots_.put(held.slot, element_));
    --free_count_;
    heap_[held_++] = held;
    std::push_heap(heap_, heap_ + held_, comes_later);
    return true;
  }

  Status read_again(std::int64_t to) {
    Error last;
    while (read_ < to) {
      auto got = read_one();
      if (got && !*got) {
        return Error{ErrorCode::bad_input,
                     fmt::format("shuffle: the saved position is behind {} "
                                 "elements, but there are only {}",
                                 to, read_)};
      }
      if (got) continue;
      // It was given before, unless the input cannot go on.
      if (got.error() == last) return std::move(got).error();
      last = std::move(got).error();
    }
    return {};
  }

  void snapshot() {
    Snapshot& to = snapshots_[ring_place(read_)];
    if (to.ordinal == read_) return;  // taken before an error
    to.input.clear();
    input_->save(to.input);
    to.ordinal = read_;
  }

  std::size_t ring_place(std::int64_t ordinal) const {
    return static_cast<std::size_t>(ordinal / window_) % snapshots_.size();
  }

  // The snapshot at or before every element that is not given yet: those lie
  // less than a window behind the one to be read.
  std::int64_t earliest_needed() const {
    return std::max<std::int64_t>(0, read_ - window_) / window_ * window_;
  }

  std::int64_t window_;
  std::uint64_t seed_;
  ElementSlots slots_;
  Held* heap_ = nullptr;
  std::int64_t* free_ = nullptr;
  std::int64_t free_count_ = 0;
  std::int64_t held_ = 0;
  Element element_;
  std::array<Snapshot, 3> snapshots_;
  std::int64_t epoch_ = 0;
  std::int64_t read_ = 0;  // elements taken from the input
  bool ended_ = false;
  std::int64_t given_ = -1;  // the slot the caller still looks at
  std::int64_t last_key_ = -1;
  std::int64_t last_ordinal_ = -1;
};

}  // namespace

Result<std::unique_ptr<Stream>> shuffle_window_stream(
    std::unique_ptr<Stream> input, const ShuffleWindowOptions& options) {
  if (options.elements < 1 || options.elements > kMostWindow) {
    return Error{ErrorCode::bad_input,
                 fmt::format("shuffle: a window of {} elements: 1 to 2^31 is "
                             "right",
                             options.elements)};
  }
  auto stream =
      std::make_unique<ShuffleWindowStream>(std::move(input), options);
  PLIMSOLL_RETURN_IF_ERROR(
      stream->slots().check("shuffle", stream->slot_count()));
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace plimsoll::data
