#include "data/streams/padded_batch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "data/streams/batch_stream.h"
#include "data/streams/element_slots.h"
#include "data/streams/stage.h"
#include "io/convert.h"

namespace plimsoll::data {
namespace {

struct Padding {
  Extents shape;  // of an element; kVaries: the batch's longest
  std::array<std::byte, 8> value{};
};

// Copies `from` into the corner of `to` and writes `pad` everywhere else.
void copy_padded(const Value& from, const Extents& shape, std::int64_t width,
                 const std::byte* pad, std::byte* to) {
  const int rank = shape.rank;
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < rank; ++i) rows *= shape[i];
  const std::int64_t row = rank > 0 ? shape[rank - 1] : 1;
  const std::int64_t kept = rank > 0 ? from.shape[rank - 1] : 1;
  std::array<std::int64_t, kMostRank> at{};
  const std::byte* source = from.data;
  for (std::int64_t r = 0; r < rows; ++r) {
    bool inside = kept > 0;
    for (int i = 0; i + 1 < rank; ++i) {
      inside = inside && at[static_cast<std::size_t>(i)] < from.shape[i];
    }
    const std::int64_t copied = inside ? kept : 0;
    if (copied > 0) {
      std::memcpy(to, source, static_cast<std::size_t>(copied * width));
      source += copied * width;
    }
    for (std::int64_t i = copied; i < row; ++i) {
      std::memcpy(to + i * width, pad, static_cast<std::size_t>(width));
    }
    to += row * width;
    for (int i = rank - 2; i >= 0; --i) {
      auto& index = at[static_cast<std::size_t>(i)];
      if (++index < shape[i]) break;
      index = 0;
    }
  }
}

class PaddedBatchStream final : public Stage {
 public:
  PaddedBatchStream(std::unique_ptr<Stream> input, ElementSpec spec,
                    std::vector<Padding> padding, std::int64_t elements,
                    bool whole_only)
      : Stage(std::move(input)),
        spec_(std::move(spec)),
        padding_(std::move(padding)),
        elements_(elements),
        whole_only_(whole_only),
        slots_(input_->spec()) {}

  std::string name() const override { return "padded_batch"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t count() const override {
    return batches_of(input_->count(), elements_, whole_only_);
  }
  const ElementSlots& slots() const { return slots_; }

  void place(Placer& placer) override {
    input_->place(placer);
    slots_.place(placer, name(), "elements", elements_);
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      stacks_[i] = placer.take(name(), "batch", spec_[i].most_bytes);
    }
  }

  Status start(std::int64_t epoch) override {
    held_ = 0;
    return input_->start(epoch);
  }

  Result<bool> next(Element& out) override {
    while (held_ < elements_) {
      if (held_ == 0) {
        before_.clear();
        input_->save(before_);
      }
      PLIMSOLL_ASSIGN(const bool got, input_->next(element_));
      if (!got) break;
      PLIMSOLL_RETURN_IF_ERROR(check(element_));
      PLIMSOLL_RETURN_IF_ERROR(slots_.put(held_, element_));
      ++held_;
    }
    const std::int64_t held = std::exchange(held_, 0);
    if (held == 0 || (whole_only_ && held < elements_)) return false;
    stack(held, out);
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
  Status check(const Element& element) const {
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Extents& has = element.values[i].shape;
      const Extents& most = padding_[i].shape;
      bool fits = has.rank == most.rank;
      for (int axis = 0; fits && axis < has.rank; ++axis) {
        fits = has[axis] >= 0 &&
               (most[axis] == kVaries || has[axis] <= most[axis]);
      }
      if (fits) continue;
      return at_element(
          *input_, element, name(),
          {ErrorCode::bad_input,
           fmt::format("field {} has the shape {}, which cannot "
                       "be padded to {}",
                       spec_[i].name, to_string(has), to_string(most))});
    }
    return {};
  }

  void stack(std::int64_t held, Element& out) {
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      Extents shape = padding_[i].shape;
      for (int axis = 0; axis < shape.rank; ++axis) {
        auto& size = shape.sizes[static_cast<std::size_t>(axis)];
        if (size != kVaries) continue;
        size = 0;
        for (std::int64_t k = 0; k < held; ++k) {
          slots_.get(k, element_);
          size = std::max(size, element_.values[i].shape[axis]);
        }
      }
      const std::int64_t width = size_of(spec_[i].dtype);
      const std::int64_t bytes = shape.elements() * width;
      for (std::int64_t k = 0; k < held; ++k) {
        slots_.get(k, element_);
        copy_padded(element_.values[i], shape, width, padding_[i].value.data(),
                    stacks_[i] + k * bytes);
      }
      Value& value = out.values[i];
      value.data = stacks_[i];
      value.bytes = bytes * held;
      value.shape.rank = shape.rank + 1;
      value.shape.sizes[0] = held;
      std::copy_n(shape.sizes.begin(), shape.rank,
                  value.shape.sizes.begin() + 1);
    }
    slots_.get(0, element_);
    out.index = element_.index;
    out.offset = element_.offset;
    out.file = element_.file;
  }

  ElementSpec spec_;
  std::vector<Padding> padding_;
  std::int64_t elements_;
  bool whole_only_;
  ElementSlots slots_;
  std::array<std::byte*, kMostFields> stacks_{};
  Element element_;
  std::int64_t held_ = 0;
  State before_;  // the input's, before the batch's first element
};

Error bad(const FieldSpec& field, const std::string& what) {
  return {ErrorCode::bad_input,
          fmt::format("padded_batch: field {} {} {}", field.name,
                      to_string(field.shape), what)};
}

// The shape that elements of `field` are padded to, which fixes most_bytes.
Result<Extents> padded_shape(FieldSpec& field, const Extents* given) {
  Extents shape = given == nullptr ? field.shape : *given;
  if (shape.rank != field.shape.rank) {
    return bad(field, fmt::format("cannot be padded to {}", to_string(shape)));
  }
  std::int64_t bytes = size_of(field.dtype);
  int open = 0;
  for (int i = 0; i < shape.rank; ++i) {
    const std::int64_t has = field.shape[i];
    auto& size = shape.sizes[static_cast<std::size_t>(i)];
    if (size == kVaries && has != kVaries) size = has;
    if (size == kVaries) {
      ++open;
    } else if (size < 0 || size < has ||
               __builtin_mul_overflow(bytes, size, &bytes)) {
      return bad(field,
                 fmt::format("cannot be padded to {}", to_string(shape)));
    }
  }
  if (open == 0) {
    field.most_bytes = bytes;
  } else if (open > 1 || bytes != size_of(field.dtype)) {
    // One axis follows the batch's longest: alone it is bounded by the bytes
    // an element can have; beside axes that grow it is not.
    for (int i = 0; i < shape.rank; ++i) {
      const bool grows = shape[i] != kVaries && shape[i] != field.shape[i];
      if (open > 1 || grows) {
        return bad(field,
                   "can grow on more than one axis: give the shape to pad to");
      }
    }
  }
  return shape;
}

}  // namespace

Result<std::unique_ptr<Stream>> padded_batch_stream(
    std::unique_ptr<Stream> input, const PaddedBatchOptions& options) {
  const std::size_t fields = input->spec().size();
  if ((!options.shapes.empty() && options.shapes.size() != fields) ||
      (!options.values.empty() && options.values.size() != fields)) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("padded_batch: {} shapes and {} values for "
                    "elements of {} fields: one for each field, or "
                    "none, is right",
                    options.shapes.size(), options.values.size(), fields)};
  }
  PLIMSOLL_ASSIGN(ElementSpec spec,
                  batched_spec("padded_batch", *input, options.elements,
                               options.whole_only));
  std::vector<Padding> padding(fields);
  for (std::size_t i = 0; i < fields; ++i) {
    FieldSpec one = input->spec()[i];
    PLIMSOLL_ASSIGN(
        padding[i].shape,
        padded_shape(one,
                     options.shapes.empty() ? nullptr : &options.shapes[i]));
    const double value = options.values.empty() ? 0 : options.values[i];
    io::convert(DType::f64, &value, one.dtype, padding[i].value.data(), 1);
    if (__builtin_mul_overflow(one.most_bytes, options.elements,
                               &spec[i].most_bytes)) {
      return bad(one, "makes batches that are more than memory can have");
    }
    std::copy_n(padding[i].shape.sizes.begin(), padding[i].shape.rank,
                spec[i].shape.sizes.begin() + 1);
  }
  auto stream = std::make_unique<PaddedBatchStream>(
      std::move(input), std::move(spec), std::move(padding), options.elements,
      options.whole_only);
  PLIMSOLL_RETURN_IF_ERROR(
      stream->slots().check("padded_batch", options.elements));
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace plimsoll::data
