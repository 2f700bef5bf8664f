#include "data/streams/generator_stream.h"

#include <fmt/core.h>

#include <array>
#include <exception>
#include <limits>
#include <utility>

#include "data/check.h"

namespace plimsoll::data {
namespace {

class GeneratorStream final : public Stream {
 public:
  GeneratorStream(std::string name, ElementSpec spec, Generator generator)
      : name_(std::move(name)),
        spec_(std::move(spec)),
        generator_(std::move(generator)) {}

  std::string name() const override { return name_; }
  const ElementSpec& spec() const override { return spec_; }

  void place(Placer& placer) override {
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      buffers_[i] = placer.take(name_, "element", spec_[i].most_bytes);
    }
  }

  Status start(std::int64_t) override {
    index_ = 0;
    ended_ = false;
    return {};
  }

  Result<bool> next(Element& out) override {
    if (ended_) return false;
    const std::int64_t index = index_++;
    out.index = index;
    out.offset = 0;
    out.file = -1;
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const bool fixed = spec_[i].shape.is_fixed();
      out.values[i] = {buffers_[i], fixed ? spec_[i].most_bytes : 0,
                       spec_[i].shape};
    }
    auto got = call(index, out);
    if (!got) {
      return Error{got.error().code, fmt::format("element {}: {}: {}", index,
                                                 name_, got.error().message)};
    }
    if (!*got) {
      ended_ = true;
      return false;
    }
    PLIMSOLL_RETURN_IF_ERROR(check(out));
    return true;
  }

  void save(State& state) const override {
    state.push(index_);
    state.push(ended_ ? 1 : 0);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    PLIMSOLL_ASSIGN(const std::int64_t index,
                    state.next(0, std::numeric_limits<std::int64_t>::max()));
    PLIMSOLL_ASSIGN(const std::int64_t ended, state.next(0, 1));
    PLIMSOLL_RETURN_IF_ERROR(start(epoch));
    Element thrown_away;
    while (index_ < index && !ended_) {
      // Its errors were given before.
      const auto got = next(thrown_away);
      if (!got) continue;
    }
    ended_ = ended_ || ended == 1;
    return {};
  }

  std::string whereabouts(const Element&) const override { return {}; }

 private:
  Result<bool> call(std::int64_t index, Element& out) const {
    try {
      return generator_(index, out, {buffers_.data(), spec_.size()});
    } catch (const std::exception& thrown) {
      return Error{ErrorCode::bad_input, thrown.what()};
    } catch (...) {
      return Error{ErrorCode::bad_input, "an exception of an unknown type"};
    }
  }

  // The function is the user's: what it says about sizes is checked.
  Status check(const Element& out) const {
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Value& value = out.values[i];
      const Extents& most = spec_[i].shape;
      bool right = value.shape.rank == most.rank && value.data != nullptr &&
                   value.bytes >= 0 && value.bytes <= spec_[i].most_bytes;
      std::int64_t bytes = size_of(spec_[i].dtype);
      for (int axis = 0; right && axis < most.rank; ++axis) {
        const std::int64_t size = value.shape[axis];
        right = size >= 0 && (most[axis] == kVaries || most[axis] == size) &&
                !__builtin_mul_overflow(bytes, size, &bytes);
      }
      if (right && bytes == value.bytes) continue;
      return Error{
          ErrorCode::bad_input,
          fmt::format("element {}: {}: field {} has the shape {} and "
                      "{} bytes, but {} of at most {} bytes were "
                      "announced",
                      out.index, name_, spec_[i].name, to_string(value.shape),
                      value.bytes, to_string(most), spec_[i].most_bytes)};
    }
    return {};
  }

  std::string name_;
  ElementSpec spec_;
  Generator generator_;
  std::array<std::byte*, kMostFields> buffers_{};
  std::int64_t index_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<Stream>> generator_stream(std::string name,
                                                 ElementSpec spec,
                                                 Generator generator) {
  PLIMSOLL_RETURN_IF_ERROR(check_spec(name, spec));
  return std::unique_ptr<Stream>(std::make_unique<GeneratorStream>(
      std::move(name), std::move(spec), std::move(generator)));
}

}  // namespace plimsoll::data
