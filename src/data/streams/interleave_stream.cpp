#include "data/streams/interleave_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "data/permutation.h"
#include "data/streams/joined_stream.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kEmpty = -1;

class InterleaveStream final : public JoinedStream {
 public:
  InterleaveStream(std::vector<std::unique_ptr<Stream>> inputs,
                   ElementSpec spec, const InterleaveOptions& options)
      : JoinedStream(std::move(inputs), std::move(spec)),
        options_(options),
        places_(static_cast<std::size_t>(options.cycle)) {}

  std::string name() const override { return "interleave"; }

  void place(Placer& placer) override {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < inputs(); ++i) {
      Placer one;
      input(i).place(one);
      most = std::max(most, one.bytes());
    }
    for (Place& place : places_) {
      place.memory = placer.take(name(), "open streams", most);
    }
  }

  Status start(std::int64_t epoch) override {
    begin(epoch);
    return {};
  }

  Result<bool> next(Element& out) override {
    while (open_ > 0 || following_ < listed()) {
      Place& place = places_[turn_];
      if (place.input == kEmpty) {
        if (following_ == listed()) {
          pass_turn();
          continue;
        }
        const std::int64_t begun = in_order(following_);
        PLIMSOLL_RETURN_IF_ERROR(settle(place, begun).start(epoch_));
        place.input = begun;
        ++following_;
        ++open_;
      }
      const auto which = static_cast<std::size_t>(place.input);
      PLIMSOLL_ASSIGN(const bool got, next_of(which, out));
      if (got) {
        if (++in_block_ == options_.block) pass_turn();
        return true;
      }
      place.input = kEmpty;
      --open_;
      pass_turn();
    }
    return false;
  }

  void save(State& state) const override {
    state.push(following_);
    state.push(static_cast<std::int64_t>(turn_));
    state.push(in_block_);
    for (const Place& place : places_) {
      state.push(place.input);
      // An empty place is as large as any.
      save_of(static_cast<std::size_t>(place.input == kEmpty ? 0 : place.input),
              state);
    }
  }

  Status restore(std::int64_t epoch, StateReader& state) override {
    begin(epoch);
    PLIMSOLL_ASSIGN(following_, state.next(0, listed()));
    PLIMSOLL_ASSIGN(const std::int64_t turn, state.next(0, options_.cycle - 1));
    PLIMSOLL_ASSIGN(in_block_, state.next(0, options_.block - 1));
    turn_ = static_cast<std::size_t>(turn);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Place& place = places_[i];
      PLIMSOLL_ASSIGN(const std::int64_t held,
                      state.next(kEmpty, listed() - 1));
      if (held == kEmpty) {
        PLIMSOLL_RETURN_IF_ERROR(pass_over_one(state));
        continue;
      }
      for (std::size_t before = 0; before < i; ++before) {
        if (places_[before].input != held) continue;
        return Error{ErrorCode::bad_input,
                     "interleave: the saved position has one stream twice"};
      }
      settle(place, held);
      PLIMSOLL_RETURN_IF_ERROR(
          restore_of(static_cast<std::size_t>(held), epoch, state));
      place.input = held;
      ++open_;
    }
    return {};
  }

 private:
  struct Place {
    std::byte* memory = nullptr;
    std::int64_t input = kEmpty;
  };

  std::int64_t listed() const { return static_cast<std::int64_t>(inputs()); }
  std::int64_t in_order(std::int64_t position) const {
    return order_ ? (*order_)(position) : position;
  }

  void begin(std::int64_t epoch) {
    epoch_ = epoch;
    following_ = in_block_ = 0;
    turn_ = 0;
    open_ = 0;
    for (Place& place : places_) {
      if (place.input == kEmpty) continue;
      // Threads of an input in mid-epoch let go of memory that is given to
      // another one.
      Placer nowhere;
      input(static_cast<std::size_t>(place.input)).place(nowhere);
      place.input = kEmpty;
    }
    if (options_.shuffle) {
      order_.emplace(listed(), options_.seed,
                     static_cast<std::uint64_t>(epoch));
    }
  }

  Stream& settle(Place& place, std::int64_t which) {
    Stream& stream = input(static_cast<std::size_t>(which));
    Placer placer(place.memory);
    stream.place(placer);
    return stream;
  }

  void pass_turn() {
    in_block_ = 0;
    turn_ = turn_ + 1 == places_.size() ? 0 : turn_ + 1;
  }

  InterleaveOptions options_;
  std::vector<Place> places_;
  std::optional<Permutation> order_;
  std::int64_t epoch_ = 0;
  std::int64_t following_ = 0;  // of the list, the next to begin
  std::size_t turn_ = 0;
  std::int64_t in_block_ = 0;  // given of the block
  int open_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> interleave_stream(
    std::vector<std::unique_ptr<Stream>> inputs,
    const InterleaveOptions& options) {
  PLIMSOLL_ASSIGN(ElementSpec spec, common_spec("interleave", inputs));
  if (options.cycle < 1 || options.block < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("interleave: a cycle of {} streams and blocks of "
                             "{} elements: at least 1 of each is needed",
                             options.cycle, options.block)};
  }
  InterleaveOptions used = options;
  used.cycle = static_cast<int>(std::min<std::int64_t>(
      options.cycle, static_cast<std::int64_t>(inputs.size())));
  const int most = most_state_numbers(inputs);
  constexpr int kOwn = 3;
  const int room = std::max(0, (kMostStateNumbers - kOwn) / (most + 1));
  if (used.cycle > room) {
    return Error{ErrorCode::bad_input,
                 fmt::format("interleave: the position in {} streams of {} "
                             "numbers each is too large to be saved: a cycle "
                             "of at most {} is right",
                             used.cycle, most, room)};
  }
  return std::unique_ptr<Stream>(std::make_unique<InterleaveStream>(
      std::move(inputs), std::move(spec), used));
}

}  // namespace plimsoll::data
