#include "data/streams/unbatch_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class UnbatchStream final : public Stage {
 public:
  UnbatchStream(std::unique_ptr<Stream> input, ElementSpec spec,
                std::int64_t most_rows)
      : Stage(std::move(input)),
        spec_(std::move(spec)),
        most_rows_(most_rows) {}

  std::string name() const override { return "unbatch"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t count() const override {
    const std::int64_t batches = input_->count();
    std::int64_t all = 0;
    if (batches == kUnknownCount || input_->spec()[0].shape[0] == kVaries ||
        __builtin_mul_overflow(batches, most_rows_, &all)) {
      return kUnknownCount;
    }
    return all;
  }

  Status start(std::int64_t epoch) override {
    rows_ = row_ = 0;
    PLIMSOLL_RETURN_IF_ERROR(input_->start(epoch));
    before_.clear();
    input_->save(before_);
    return {};
  }

  Result<bool> next(Element& out) override {
    while (row_ == rows_) {
      PLIMSOLL_ASSIGN(const bool got, pull());
      if (!got) return false;
    }
    // Unsigned: a number that some function made up may be anything.
    out.index =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(batch_.index) *
                                      static_cast<std::uint64_t>(most_rows_) +
                                  static_cast<std::uint64_t>(row_));
    out.offset = batch_.offset;
    out.file = batch_.file;
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Value& from = batch_.values[i];
      Value& value = out.values[i];
      value.bytes = from.bytes / rows_;
      value.data = from.data + row_ * value.bytes;
      value.shape.rank = from.shape.rank - 1;
      std::copy_n(from.shape.sizes.begin() + 1, value.shape.rank,
                  value.shape.sizes.begin());
    }
    ++row_;
    return true;
  }

  void save(State& state) const override {
    if (row_ == rows_) {
      input_->save(state);
      state.push(0);
    } else {
      state.append(before_);
      state.push(row_);
    }
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    rows_ = row_ = 0;
    PLIMSOLL_RETURN_IF_ERROR(input_->restore(epoch, state));
    PLIMSOLL_ASSIGN(const std::int64_t row, state.next(0, most_rows_));
    if (row == 0) return {};
    PLIMSOLL_ASSIGN(const bool got, pull());
    if (!got || row > rows_) {
      return Error{ErrorCode::bad_input,
                   fmt::format("unbatch: the saved position is row {}, but the "
                               "element has {} rows: it belongs to other data",
                               row, rows_)};
    }
    row_ = row;
    return {};
  }

  std::string whereabouts(const Element& element) const override {
    Element batch = element;
    batch.index = element.index / most_rows_;
    return input_->whereabouts(batch);
  }

 private:
  Result<bool> pull() {
    rows_ = row_ = 0;
    before_.clear();
    input_->save(before_);
    PLIMSOLL_ASSIGN(const bool got, input_->next(batch_));
    if (!got) return false;
    const std::int64_t rows = batch_.values[0].shape[0];
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const Value& value = batch_.values[i];
      const bool whole = value.shape[0] == rows && rows >= 0 &&
                         rows <= most_rows_ &&
                         (rows == 0 || value.bytes % rows == 0);
      if (whole) continue;
      return at_element(
          *input_, batch_, name(),
          {ErrorCode::bad_input,
           fmt::format("field {} has {} rows, field {} has {}: they should be "
                       "equal and at most {}",
                       spec_[0].name, rows, spec_[i].name, value.shape[0],
                       most_rows_)});
    }
    rows_ = rows;
    return true;
  }

  ElementSpec spec_;
  std::int64_t most_rows_;
  Element batch_;
  State before_;  // the input's, before it gave the batch
  std::int64_t rows_ = 0;
  std::int64_t row_ = 0;  // the next one
};

}  // namespace

Result<std::unique_ptr<Stream>> unbatch_stream(std::unique_ptr<Stream> input) {
  ElementSpec spec = input->spec();
  std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();
  for (FieldSpec& field : spec) {
    Extents& shape = field.shape;
    if (shape.rank == 0) {
      return Error{ErrorCode::bad_input,
                   fmt::format("unbatch: field {} is a single number, without "
                               "an axis to take apart",
                               field.name)};
    }
    const std::int64_t rows = shape[0];
    std::copy(shape.sizes.begin() + 1, shape.sizes.end(), shape.sizes.begin());
    --shape.rank;
    if (rows != kVaries) {
      field.most_bytes = rows > 0 ? field.most_bytes / rows : 0;
      most_rows = std::min(most_rows, rows);
    } else {
      // A row may be nearly empty: a byte is the least it can be.
      const std::int64_t row_bytes =
          shape.is_fixed() ? shape.elements() * size_of(field.dtype) : 1;
      most_rows = std::min(
          most_rows, field.most_bytes / std::max<std::int64_t>(1, row_bytes));
      if (shape.is_fixed()) field.most_bytes = row_bytes;
    }
  }
  most_rows = std::max<std::int64_t>(1, most_rows);
  return std::unique_ptr<Stream>(std::make_unique<UnbatchStream>(
      std::move(input), std::move(spec), most_rows));
}

}  // namespace plimsoll::data
