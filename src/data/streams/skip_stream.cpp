#include "data/streams/skip_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class SkipStream final : public Stage {
 public:
  SkipStream(std::unique_ptr<Stream> input, std::int64_t elements)
      : Stage(std::move(input)), elements_(elements) {}

  std::string name() const override { return "skip"; }
  std::int64_t count() const override {
    const std::int64_t all = input_->count();
    return all == kUnknownCount ? all
                                : std::max<std::int64_t>(0, all - elements_);
  }

  Status start(std::int64_t epoch) override {
    skipped_ = 0;
    return input_->start(epoch);
  }

  Result<bool> next(Element& out) override {
    while (skipped_ < elements_) {
      PLIMSOLL_ASSIGN(const bool got, input_->next(out));
      if (!got) return false;
      ++skipped_;
    }
    return input_->next(out);
  }

  void save(State& state) const override {
    input_->save(state);
    state.push(skipped_);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_RETURN_IF_ERROR(input_->restore(epoch, state));
    PLIMSOLL_ASSIGN(skipped_, state.next(0, elements_));
    return {};
  }

 private:
  std::int64_t elements_;
  std::int64_t skipped_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> skip_stream(std::unique_ptr<Stream> input,
                                            std::int64_t elements) {
  if (elements < 0) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("skip: {} elements: 0 or more are right", elements)};
  }
  return std::unique_ptr<Stream>(
      std::make_unique<SkipStream>(std::move(input), elements));
}

}  // namespace plimsoll::data
