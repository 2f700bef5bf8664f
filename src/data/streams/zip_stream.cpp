#include "data/streams/zip_stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "data/check.h"

namespace plimsoll::data {
namespace {

class ZipStream final : public Stream {
 public:
  ZipStream(std::vector<std::unique_ptr<Stream>> inputs, ElementSpec spec)
      : inputs_(std::move(inputs)), spec_(std::move(spec)) {}

  std::string name() const override { return "zip"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t count() const override {
    std::int64_t least = inputs_[0]->count();
    for (const auto& input : inputs_) {
      // Whichever is not known may be the shortest.
      if (input->count() == kUnknownCount) return kUnknownCount;
      least = std::min(least, input->count());
    }
    return least;
  }

  void place(Placer& placer) override {
    for (const auto& input : inputs_) input->place(placer);
  }

  Status start(std::int64_t epoch) override {
    ended_ = false;
    for (const auto& input : inputs_) {
      PLIMSOLL_RETURN_IF_ERROR(input->start(epoch));
    }
    return {};
  }

  Result<bool> next(Element& out) override {
    if (ended_) return false;
    std::optional<Error> error;
    std::size_t field = 0;
    for (const auto& input : inputs_) {
      auto got = input->next(part_);
      if (!got) {
        // The others go on too, or what follows would not belong together.
        if (!error) error = std::move(got).error();
        continue;
      }
      if (!*got) {
        ended_ = true;
        return false;
      }
      if (field == 0) {
        out.index = part_.index;
        out.offset = part_.offset;
        out.file = part_.file;
      }
      const std::size_t fields = input->spec().size();
      std::copy_n(part_.values.begin(), fields,
                  out.values.begin() + static_cast<std::ptrdiff_t>(field));
      field += fields;
    }
    if (error) return *std::move(error);
    return true;
  }

  void save(State& state) const override {
    state.push(ended_ ? 1 : 0);
    for (const auto& input : inputs_) input->save(state);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_ASSIGN(const std::int64_t ended, state.next(0, 1));
    ended_ = ended == 1;
    for (const auto& input : inputs_) {
      PLIMSOLL_RETURN_IF_ERROR(input->restore(epoch, state));
    }
    return {};
  }

  std::string whereabouts(const Element& element) const override {
    return inputs_[0]->whereabouts(element);
  }

 private:
  std::vector<std::unique_ptr<Stream>> inputs_;
  ElementSpec spec_;
  Element part_;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<Stream>> zip_stream(
    std::vector<std::unique_ptr<Stream>> inputs) {
  ElementSpec spec;
  for (const auto& input : inputs) {
    spec.insert(spec.end(), input->spec().begin(), input->spec().end());
  }
  tell_names_apart(spec);
  PLIMSOLL_RETURN_IF_ERROR(check_spec("zip", spec));
  return std::unique_ptr<Stream>(
      std::make_unique<ZipStream>(std::move(inputs), std::move(spec)));
}

}  // namespace plimsoll::data
