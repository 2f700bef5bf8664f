#include "data/streams/error_skipping.h"

#include <fmt/core.h>

#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostInARow = 10'000;

class SkipErrorsStream final : public Stage {
 public:
  SkipErrorsStream(std::unique_ptr<Stream> input, ErrorPolicy& policy)
      : Stage(std::move(input)), leniency_(&policy) {}

  std::string name() const override { return "skip_errors"; }

  Result<bool> next(Element& out) override {
    for (;;) {
      auto got = input_->next(out);
      if (got) {
        leniency_.element_came();
        return got;
      }
      Error error = std::move(got).error();
      if (!leniency_.forgives(error)) return error;
    }
  }

 private:
  Leniency leniency_;
};

}  // namespace

bool Leniency::forgives(Error& error) {
  if (policy_ == nullptr || !policy_->skip) return false;
  if (in_a_row_ > 0 && error.message == last_) return false;
  if (in_a_row_ >= kMostInARow) {
    error.message =
        fmt::format("{} elements in a row were left out; the last: {}",
                    in_a_row_, error.message);
    return false;
  }
  last_ = error.message;
  ++in_a_row_;
  policy_->skipped.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::unique_ptr<Stream> skip_errors_stream(std::unique_ptr<Stream> input,
                                           ErrorPolicy& policy) {
  return std::make_unique<SkipErrorsStream>(std::move(input), policy);
}

}  // namespace plimsoll::data
