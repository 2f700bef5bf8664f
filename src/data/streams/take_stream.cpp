#include "data/streams/take_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class TakeStream final : public Stage {
 public:
  TakeStream(std::unique_ptr<Stream> input, std::int64_t elements)
      : Stage(std::move(input)), elements_(elements) {}

  std::string name() const override { return "take"; }
  std::int64_t count() const override {
    const std::int64_t all = input_->count();
    return all == kUnknownCount ? all : std::min(all, elements_);
  }

  Status start(std::int64_t epoch) override {
    taken_ = 0;
    return input_->start(epoch);
  }

  Result<bool> next(Element& out) override {
    if (taken_ >= elements_) return false;
    PLIMSOLL_ASSIGN(const bool got, input_->next(out));
    if (got) ++taken_;
    return got;
  }

  void save(State& state) const override {
    input_->save(state);
    state.push(taken_);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_RETURN_IF_ERROR(input_->restore(epoch, state));
    PLIMSOLL_ASSIGN(taken_, state.next(0, elements_));
    return {};
  }

 private:
  std::int64_t elements_;
  std::int64_t taken_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> take_stream(std::unique_ptr<Stream> input,
                                            std::int64_t elements) {
  if (elements < 0) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("take: {} elements: 0 or more are right", elements)};
  }
  return std::unique_ptr<Stream>(
      std::make_unique<TakeStream>(std::move(input), elements));
}

}  // namespace plimsoll::data
