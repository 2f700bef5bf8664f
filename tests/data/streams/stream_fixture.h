// Small numbered streams, the memory for a chain of them, and plain rows to
// compare with.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/map.h"
#include "data/stream.h"

namespace plimsoll::data {

// An element by value; all fields are i64 here.
struct Row {
  std::int64_t index = 0;
  std::vector<Extents> shapes;
  std::vector<std::vector<std::int64_t>> values;
  friend bool operator==(const Row&, const Row&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Row& row) {
  out << "#" << row.index;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    out << " " << to_string(row.shapes[i]) << ":";
    for (const std::int64_t value : row.values[i]) out << " " << value;
  }
  return out;
}

inline Row row_of(const Element& element, const ElementSpec& spec) {
  Row row;
  row.index = element.index;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const Value& value = element.values[i];
    EXPECT_EQ(value.bytes, value.shape.elements() * size_of(spec[i].dtype));
    EXPECT_LE(value.bytes, spec[i].most_bytes);
    EXPECT_EQ(value.shape.rank, spec[i].shape.rank);
    for (int axis = 0; axis < value.shape.rank; ++axis) {
      if (spec[i].shape[axis] == kVaries) continue;
      EXPECT_EQ(spec[i].shape[axis], value.shape[axis]);
    }
    row.shapes.push_back(value.shape);
    auto& numbers = row.values.emplace_back(value.bytes / 8);
    if (value.bytes > 0) {
      std::memcpy(numbers.data(), value.data,
                  static_cast<std::size_t>(value.bytes));
    }
  }
  return row;
}

// `count` elements; i has the value first + i + 1000 * epoch, once, or (where
// they vary) i % 4 times.
class NumberedStream final : public Stream {
 public:
  explicit NumberedStream(std::int64_t count, std::int64_t first = 0,
                          bool varies = false)
      : count_(count), first_(first), varies_(varies) {
    if (varies) {
      spec_ = {{"x", DType::i64, {kVaries}, 3 * 8}};
    } else {
      spec_ = {fixed_field("x", DType::i64, {})};
    }
  }

  std::set<std::int64_t> bad;    // errors in the place of these
  std::int64_t stuck_at = -1;    // an error there, again and again
  mutable int* pulls = nullptr;  // counts calls of next()

  std::string name() const override { return "numbered"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t count() const override {
    return bad.empty() ? count_ : kUnknownCount;
  }
  void place(Placer& placer) override {
    buffer_ = placer.take("numbered", "element", 3 * 8);
  }
  Status start(std::int64_t epoch) override {
    epoch_ = epoch;
    position_ = 0;
    return {};
  }
  Result<bool> next(Element& out) override {
    if (pulls != nullptr) ++*pulls;
    // What it gave last is gone: who kept a pointer shall notice.
    std::memset(buffer_, 0x7b, 3 * 8);
    if (position_ == count_) return false;
    if (position_ == stuck_at) return error("cannot go on", position_);
    const std::int64_t i = position_++;
    if (bad.contains(i)) return error("is bad", i);
    out.index = i;
    out.offset = 100 * i;
    out.file = 0;
    const std::int64_t copies = varies_ ? i % 4 : 1;
    const std::int64_t value = value_of(i, epoch_);
    for (std::int64_t k = 0; k < copies; ++k) {
      std::memcpy(buffer_ + 8 * k, &value, 8);
    }
    out.values[0] = {buffer_, 8 * copies, shape_of(i)};
    return true;
  }
  void save(State& state) const override { state.push(position_); }
  Status restore(std::int64_t epoch, StateReader& state) override {
    epoch_ = epoch;
    PLIMSOLL_ASSIGN(position_, state.next(0, count_));
    return {};
  }
  std::string whereabouts(const Element& element) const override {
    return "numbers from " + std::to_string(first_) + ", offset " +
           std::to_string(element.offset);
  }

  std::vector<Row> rows(std::int64_t epoch) const {
    std::vector<Row> all;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (bad.contains(i)) continue;
      const auto copies = static_cast<std::size_t>(varies_ ? i % 4 : 1);
      const std::vector<std::int64_t> values(copies, value_of(i, epoch));
      all.push_back({i, {shape_of(i)}, {values}});
    }
    return all;
  }

 private:
  static Error error(const char* what, std::int64_t i) {
    return {ErrorCode::io, "number " + std::to_string(i) + " " + what};
  }
  std::int64_t value_of(std::int64_t i, std::int64_t epoch) const {
    return first_ + i + 1000 * epoch;
  }
  Extents shape_of(std::int64_t i) const {
    return varies_ ? Extents{i % 4} : Extents{};
  }

  std::int64_t count_;
  std::int64_t first_;
  bool varies_;
  ElementSpec spec_;
  std::byte* buffer_ = nullptr;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

inline std::unique_ptr<NumberedStream> numbered(std::int64_t count,
                                                std::int64_t first = 0,
                                                bool varies = false) {
  return std::make_unique<NumberedStream>(count, first, varies);
}

template <class T>
T taken(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    std::abort();  // there is nothing to go on with
  }
  return *std::move(result);
}

// A stream with exactly the memory it asked for.
class Placed {
 public:
  explicit Placed(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {
    Placer counted;
    stream_->place(counted);
    bytes_ = counted.bytes();
    memory_.reset(static_cast<std::byte*>(
        std::aligned_alloc(64, static_cast<std::size_t>(bytes_ + 64))));
    Placer placer(memory_.get());
    stream_->place(placer);
    EXPECT_EQ(placer.bytes(), bytes_);
  }
  explicit Placed(Result<std::unique_ptr<Stream>> stream)
      : Placed(taken(std::move(stream))) {}

  Stream& operator*() { return *stream_; }
  Stream* operator->() { return stream_.get(); }
  std::int64_t bytes() const { return bytes_; }

  // Up to `most` further elements; errors end the test's patience.
  std::vector<Row> drain(std::int64_t most = 1'000'000) {
    std::vector<Row> all;
    Element element;
    while (std::ssize(all) < most) {
      const auto got = stream_->next(element);
      if (!got) {
        ADD_FAILURE() << got.error().message;
        break;
      }
      if (!*got) break;
      all.push_back(row_of(element, stream_->spec()));
    }
    return all;
  }
  std::vector<Row> epoch(std::int64_t number) {
    const auto status = stream_->start(number);
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
    return drain();
  }
  std::vector<std::int64_t> saved() const {
    State state;
    stream_->save(state);
    EXPECT_TRUE(state.fits());
    return {state.numbers().begin(), state.numbers().end()};
  }
  Status restore(std::int64_t epoch, const std::vector<std::int64_t>& numbers) {
    StateReader reader(numbers);
    PLIMSOLL_RETURN_IF_ERROR(stream_->restore(epoch, reader));
    EXPECT_TRUE(reader.at_end());
    return {};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::unique_ptr<Stream> stream_;  // goes before its memory
  std::int64_t bytes_ = 0;
};

// The first value of each element's first field.
inline std::vector<std::int64_t> firsts(const std::vector<Row>& rows) {
  std::vector<std::int64_t> values;
  for (const Row& row : rows) values.push_back(row.values[0][0]);
  return values;
}

// x * 3 + index + 100 * epoch in the first field, written value by value; in
// the first field alone. Fails where x % 1000 is `fails_at`.
class TripleMap final : public Map {
 public:
  explicit TripleMap(std::int64_t fails_at = -1) : fails_at_(fails_at) {}

  static std::int64_t of(std::int64_t x, std::int64_t index,
                         std::int64_t epoch) {
    return x * 3 + index + 100 * epoch;
  }

  std::string name() const override { return "triple"; }
  Result<ElementSpec> bind(const ElementSpec& in) override {
    if (in.empty() || in[0].dtype != DType::i64) {
      return Error{ErrorCode::bad_input, "triple: the first field must be i64"};
    }
    return in;
  }
  bool writes(int field) const override { return field == 0; }
  std::int64_t scratch_bytes() const override { return 64; }
  Status apply(const Element& in, Element& out,
               std::span<std::byte* const> buffers,
               const MapContext& context) const override {
    const Value& from = in.values[0];
    // Whoever shares this scratch would be seen by the sanitizer.
    std::memset(context.scratch.data(), 1, 64);
    // Were the output to overlap the input, the latter would be gone.
    std::memset(buffers[0], 0x5a, static_cast<std::size_t>(from.bytes));
    for (std::int64_t at = 0; at < from.bytes; at += 8) {
      std::int64_t x = 0;
      std::memcpy(&x, from.data + at, 8);
      if (fails_at_ >= 0 && x % 1000 == fails_at_) {
        return Error{ErrorCode::bad_input, "value " + std::to_string(x)};
      }
      const std::int64_t made = of(x, in.index, context.epoch);
      std::memcpy(buffers[0] + at, &made, 8);
    }
    out.values[0].bytes = from.bytes;
    out.values[0].shape = from.shape;
    return {};
  }

 private:
  std::int64_t fails_at_;
};

}  // namespace plimsoll::data
