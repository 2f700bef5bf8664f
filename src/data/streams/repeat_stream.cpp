#include "data/streams/repeat_stream.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class RepeatStream final : public Stage {
 public:
  RepeatStream(std::unique_ptr<Stream> input, std::int64_t times)
      : Stage(std::move(input)), times_(times) {}

  std::string name() const override { return "repeat"; }
  std::int64_t count() const override {
    const std::int64_t once = input_->count();
    std::int64_t all = 0;
    if (once == 0 || times_ == 0) return 0;
    if (once == kUnknownCount || times_ == kForever ||
        __builtin_mul_overflow(once, times_, &all)) {
      return kUnknownCount;
    }
    return all;
  }

  Status start(std::int64_t epoch) override { return begin(epoch, 0); }

  Result<bool> next(Element& out) override {
    while (times_ == kForever || round_ < times_) {
      PLIMSOLL_ASSIGN(const bool got, input_->next(out));
      if (got) {
        gave_ = true;
        return true;
      }
      // An input without elements would be repeated in vain.
      if (!gave_ && times_ == kForever) return false;
      if (round_ + 1 == times_) {
        round_ = times_;
        return false;
      }
      PLIMSOLL_RETURN_IF_ERROR(begin(epoch_, round_ + 1));
    }
    return false;
  }

  void save(State& state) const override {
    state.push(round_);
    state.push(gave_ ? 1 : 0);
    input_->save(state);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    const std::int64_t most = times_ == kForever
                                  ? std::numeric_limits<std::int64_t>::max() - 1
                                  : times_;
    PLIMSOLL_ASSIGN(const std::int64_t round, state.next(0, most));
    PLIMSOLL_ASSIGN(const std::int64_t gave, state.next(0, 1));
    epoch_ = epoch;
    round_ = round;
    gave_ = gave == 1;
    // Behind the last round the input stands at the last round's end.
    const std::int64_t last = round == times_ && round > 0 ? round - 1 : round;
    PLIMSOLL_ASSIGN(const std::int64_t inner, inner_epoch(epoch, last));
    return input_->restore(inner, state);
  }

 private:
  Result<std::int64_t> inner_epoch(std::int64_t epoch,
                                   std::int64_t round) const {
    std::int64_t inner = epoch;
    if ((times_ != kForever && __builtin_mul_overflow(epoch, times_, &inner)) ||
        __builtin_add_overflow(inner, round, &inner)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("repeat: round {} of epoch {} is past the last "
                               "epoch there can be",
                               round, epoch)};
    }
    return inner;
  }

  Status begin(std::int64_t epoch, std::int64_t round) {
    PLIMSOLL_ASSIGN(const std::int64_t inner, inner_epoch(epoch, round));
    epoch_ = epoch;
    round_ = round;
    gave_ = false;
    return input_->start(inner);
  }

  std::int64_t times_;
  std::int64_t epoch_ = 0;
  std::int64_t round_ = 0;
  bool gave_ = false;  // an element in this round
};

}  // namespace

Result<std::unique_ptr<Stream>> repeat_stream(std::unique_ptr<Stream> input,
                                              std::int64_t times) {
  if (times < 0 && times != kForever) {
    return Error{ErrorCode::bad_input,
                 fmt::format("repeat: {} times: 0 or more, or forever ({}), is "
                             "right",
                             times, kForever)};
  }
  return std::unique_ptr<Stream>(
      std::make_unique<RepeatStream>(std::move(input), times));
}

}  // namespace plimsoll::data
