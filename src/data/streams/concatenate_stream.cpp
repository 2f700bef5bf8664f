#include "data/streams/concatenate_stream.h"

#include <utility>

#include "data/streams/joined_stream.h"

namespace plimsoll::data {
namespace {

class ConcatenateStream final : public JoinedStream {
 public:
  ConcatenateStream(std::vector<std::unique_ptr<Stream>> inputs,
                    ElementSpec spec)
      : JoinedStream(std::move(inputs), std::move(spec)) {}

  std::string name() const override { return "concatenate"; }

  void place(Placer& placer) override {
    for (std::size_t i = 0; i < inputs(); ++i) input(i).place(placer);
  }

  Status start(std::int64_t epoch) override {
    epoch_ = epoch;
    current_ = 0;
    return input(0).start(epoch);
  }

  Result<bool> next(Element& out) override {
    for (;;) {
      PLIMSOLL_ASSIGN(const bool got, next_of(current_, out));
      if (got || current_ + 1 == inputs()) return got;
      PLIMSOLL_RETURN_IF_ERROR(input(current_ + 1).start(epoch_));
      ++current_;
    }
  }

  void save(State& state) const override {
    state.push(static_cast<std::int64_t>(current_));
    save_of(current_, state);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    const auto last = static_cast<std::int64_t>(inputs()) - 1;
    PLIMSOLL_ASSIGN(const std::int64_t current, state.next(0, last));
    epoch_ = epoch;
    current_ = static_cast<std::size_t>(current);
    return restore_of(current_, epoch, state);
  }

 private:
  std::int64_t epoch_ = 0;
  std::size_t current_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> concatenate_stream(
    std::vector<std::unique_ptr<Stream>> inputs) {
  PLIMSOLL_ASSIGN(ElementSpec spec, common_spec("concatenate", inputs));
  return std::unique_ptr<Stream>(
      std::make_unique<ConcatenateStream>(std::move(inputs), std::move(spec)));
}

}  // namespace plimsoll::data
