#include "data/streams/batch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

Extents with_first_axis(const Extents& shape, std::int64_t size) {
  Extents out;
  out.rank = shape.rank + 1;
  out.sizes[0] = size;
  std::copy_n(shape.sizes.begin(), shape.rank, out.sizes.begin() + 1);
  return out;
}

class BatchStream final : public Stage {
 public:
  BatchStream(std::unique_ptr<Stream> input, ElementSpec spec,
              std::int64_t elements, bool whole_only)
      : Stage(std::move(input)),
        spec_(std::move(spec)),
        elements_(elements),
        whole_only_(whole_only) {}

  std::string name() const override { return "batch"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t count() const override {
    return batches_of(input_->count(), elements_, whole_only_);
  }

  void place(Placer& placer) override {
    input_->place(placer);
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      stacks_[i] = placer.take(name(), "batch", spec_[i].most_bytes);
    }
  }

  Status start(std::int64_t epoch) override {
    held_ = 0;
    return input_->start(epoch);
  }

  Result<bool> next(Element& out) override {
    // After an error the elements before it are still there.
    while (held_ < elements_) {
      if (held_ == 0) {
        before_.clear();
        input_->save(before_);
      }
      PLIMSOLL_ASSIGN(const bool got, input_->next(element_));
      if (!got) break;
      PLIMSOLL_RETURN_IF_ERROR(stack());
    }
    const std::int64_t held = std::exchange(held_, 0);
    if (held == 0 || (whole_only_ && held < elements_)) return false;
    out.index = first_.index;
    out.offset = first_.offset;
    out.file = first_.file;
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Value& one = first_.values[i];
      out.values[i] = {stacks_[i], one.bytes * held,
                       with_first_axis(one.shape, held)};
    }
    return true;
  }

  void save(State& state) const override {
    if (held_ > 0) {
      state.append(before_);
    } else {
      input_->save(state);
    }
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    held_ = 0;
    return input_->restore(epoch, state);
  }

 private:
  Status stack() {
    if (held_ == 0) copy_element(element_, spec_.size(), first_);
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Value& value = element_.values[i];
      const Value& one = first_.values[i];
      if (value.bytes != one.bytes || value.shape != one.shape) {
        return ragged(i, value.shape, one.shape);
      }
      if (value.bytes < 0 || value.bytes > spec_[i].most_bytes / elements_) {
        return too_large(i, value.bytes);
      }
    }
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Value& value = element_.values[i];
      if (value.bytes == 0) continue;
      std::memcpy(stacks_[i] + held_ * value.bytes, value.data,
                  static_cast<std::size_t>(value.bytes));
    }
    ++held_;
    return {};
  }

  Error ragged(std::size_t field, const Extents& has, const Extents& first) {
    return at_element(
        *input_, element_, name(),
        {ErrorCode::bad_input,
         fmt::format("ragged batch: field {} has the shape {}, the batch began "
                     "with {}; pad, resize or crop to one shape",
                     spec_[field].name, to_string(has), to_string(first))});
  }

  Error too_large(std::size_t field, std::int64_t bytes) {
    return at_element(*input_, element_, name(),
                      {ErrorCode::bad_input,
                       fmt::format("field {} has {} bytes, but at most {} were "
                                   "announced",
                                   spec_[field].name, bytes,
                                   spec_[field].most_bytes / elements_)});
  }

  ElementSpec spec_;
  std::int64_t elements_;
  bool whole_only_;
  std::array<std::byte*, kMostFields> stacks_{};
  Element element_;
  Element first_;  // its shapes are the batch's; its data is gone
  std::int64_t held_ = 0;
  State before_;  // the input's, before the batch's first element
};

}  // namespace

std::int64_t batches_of(std::int64_t count, std::int64_t elements,
                        bool whole_only) {
  if (count == kUnknownCount) return count;
  return count / elements + (!whole_only && count % elements > 0 ? 1 : 0);
}

Result<ElementSpec> batched_spec(const std::string& stage, const Stream& input,
                                 std::int64_t elements, bool whole_only) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", stage, what)};
  };
  if (elements < 1) {
    return bad(fmt::format("{} elements: at least 1 is needed", elements));
  }
  const bool always_whole = whole_only || (input.count() != kUnknownCount &&
                                           input.count() % elements == 0);
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;
  ElementSpec spec = input.spec();
  for (FieldSpec& field : spec) {
    if (field.shape.rank == kMostRank) {
      return bad(
          fmt::format("field {} has the shape {}: {} axes are the most "
                      "a batch can have",
                      field.name, to_string(field.shape), kMostRank));
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(field.most_bytes, elements, &bytes) ||
        bytes > kMostBytes) {
      return bad(
          fmt::format("{} elements of up to {} bytes in field {} are "
                      "more than memory can have",
                      elements, field.most_bytes, field.name));
    }
    field.most_bytes = bytes;
    field.shape =
        with_first_axis(field.shape, always_whole ? elements : kVaries);
  }
  return spec;
}

Result<std::unique_ptr<Stream>> batch_stream(std::unique_ptr<Stream> input,
                                             std::int64_t elements,
                                             bool whole_only) {
  PLIMSOLL_ASSIGN(ElementSpec spec,
                  batched_spec("batch", *input, elements, whole_only));
  return std::unique_ptr<Stream>(std::make_unique<BatchStream>(
      std::move(input), std::move(spec), elements, whole_only));
}

}  // namespace plimsoll::data
