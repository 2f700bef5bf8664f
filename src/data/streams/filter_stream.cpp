#include "data/streams/filter_stream.h"

#include <exception>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class FilterStream final : public Stage {
 public:
  FilterStream(std::unique_ptr<Stream> input, Predicate predicate)
      : Stage(std::move(input)), predicate_(std::move(predicate)) {}

  std::string name() const override { return "filter"; }

  Result<bool> next(Element& out) override {
    for (;;) {
      PLIMSOLL_ASSIGN(const bool got, input_->next(out));
      if (!got) return false;
      const auto passes = ask(out);
      if (!passes) return at_element(*input_, out, name(), passes.error());
      if (*passes) return true;
    }
  }

 private:
  Result<bool> ask(const Element& element) const {
    try {
      return predicate_(element);
    } catch (const std::exception& thrown) {
      return Error{ErrorCode::bad_input, thrown.what()};
    } catch (...) {
      return Error{ErrorCode::bad_input, "an exception of an unknown type"};
    }
  }

  Predicate predicate_;
};

}  // namespace

std::unique_ptr<Stream> filter_stream(std::unique_ptr<Stream> input,
                                      Predicate predicate) {
  return std::make_unique<FilterStream>(std::move(input), std::move(predicate));
}

}  // namespace plimsoll::data
