// indexed_stream and generator_stream.
#include <array>
#include <numeric>
#include <stdexcept>

#include "data/indexed.h"
#include "data/streams/generator_stream.h"
#include "data/streams/indexed_stream.h"
#include "data/streams/stream_fixture.h"

namespace plimsoll::data {
namespace {

using Numbers = std::vector<std::int64_t>;

// Element i is i + 1000 * epoch, i % 4 times where shapes vary; a second field
// is i + 5 and may be borrowed.
class NumberedSet final : public Indexed {
 public:
  NumberedSet(std::int64_t size, bool varies, bool lends)
      : size_(size), lends_(lends), lent_(static_cast<std::size_t>(size)) {
    spec_ = {varies ? FieldSpec{"x", DType::i64, {kVaries}, 24}
                    : fixed_field("x", DType::i64, {}),
             fixed_field("y", DType::i64, {1})};
    std::iota(lent_.begin(), lent_.end(), 5);
  }

  std::int64_t bad = -1;
  mutable int gathers = 0;

  std::string name() const override { return "numbers"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return size_; }
  std::int64_t scratch_bytes() const override { return 64; }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override {
    std::memset(context.scratch.data(), 1, 64);
    if (number == bad) {
      return Error{ErrorCode::io, "element " + std::to_string(number)};
    }
    const bool varies = spec_[0].shape.rank == 1;
    const std::int64_t copies = varies ? number % 4 : 1;
    const std::int64_t value = number + 1000 * context.epoch;
    for (std::int64_t k = 0; k < copies; ++k) {
      std::memcpy(buffers[0] + 8 * k, &value, 8);
    }
    out.index = number;
    out.values[0] = {buffers[0], 8 * copies,
                     varies ? Extents{copies} : Extents{}};
    std::memcpy(buffers[1], &lent_[static_cast<std::size_t>(number)], 8);
    out.values[1] = {buffers[1], 8, {1}};
    return {};
  }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override {
    ++gathers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::array<std::int64_t, 2> values{};
      const std::array<std::byte*, 2> one = {
          reinterpret_cast<std::byte*>(&values[0]),
          reinterpret_cast<std::byte*>(&values[1])};
      Element element;
      PLIMSOLL_RETURN_IF_ERROR(read(numbers[i], element, one, context));
      std::memcpy(rows[0] + 8 * i, &values[0], 8);
      EXPECT_EQ(rows[1] == nullptr, lends_);
      if (rows[1] != nullptr) std::memcpy(rows[1] + 8 * i, &values[1], 8);
    }
    return {};
  }
  const std::byte* borrow(int field, std::int64_t first) const override {
    if (field == 0 || !lends_) return nullptr;
    return reinterpret_cast<const std::byte*>(lent_.data() + first);
  }
  std::string whereabouts(std::int64_t number) const override {
    return "row " + std::to_string(number);
  }
  std::string describe() const override { return "numbers"; }

 private:
  std::int64_t size_;
  bool lends_;
  std::vector<std::int64_t> lent_;
  ElementSpec spec_;
};

TEST(IndexedStream, InTheOrderOfNumbers) {
  for (const bool varies : {false, true}) {
    for (const bool lends : {false, true}) {
      for (const std::int64_t size : {1, 255, 256, 257, 1000}) {
        auto set = std::make_shared<NumberedSet>(size, varies, lends);
        Placed stream(indexed_stream(set));
        EXPECT_EQ(stream->count(), size);
        const auto rows = stream.epoch(2);
        ASSERT_EQ(std::ssize(rows), size);
        for (std::int64_t i = 0; i < size; ++i) {
          const Row& row = rows[static_cast<std::size_t>(i)];
          ASSERT_EQ(row.index, i);
          ASSERT_EQ(row.values[1], Numbers{i + 5});
          const auto copies = static_cast<std::size_t>(varies ? i % 4 : 1);
          ASSERT_EQ(row.values[0], Numbers(copies, i + 2000));
        }
        EXPECT_EQ(set->gathers, varies ? 0 : (size + 255) / 256);
      }
    }
  }
}

TEST(IndexedStream, ABadElementCostsNoOther) {
  auto set = std::make_shared<NumberedSet>(600, false, true);
  set->bad = 300;
  Placed stream(indexed_stream(set));
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(stream.drain(300).size(), 300u);
  Element element;
  EXPECT_EQ(stream->next(element).error().message, "element 300");
  const auto rest = stream.drain();
  ASSERT_EQ(rest.size(), 299u);
  EXPECT_EQ(rest[0].values[0][0], 301);
  EXPECT_EQ(rest[250].values[1][0], 301 + 250 + 5);
}

TEST(IndexedStream, GoesOnFromAPosition) {
  auto set = std::make_shared<NumberedSet>(600, false, false);
  Placed first(indexed_stream(set));
  const auto all = first.epoch(1);
  for (const std::int64_t stop : {0, 1, 255, 256, 300, 600}) {
    ASSERT_TRUE(first->start(1));
    first.drain(stop);
    Placed second(indexed_stream(set));
    ASSERT_TRUE(second.restore(1, first.saved()));
    EXPECT_EQ(second.drain(), std::vector<Row>(all.begin() + stop, all.end()));
  }
  Element element;
  element.index = 7;
  EXPECT_EQ(first->whereabouts(element), "row 7");
  EXPECT_FALSE(first.restore(0, {601}));
  EXPECT_FALSE(first.restore(0, {-1}));
}

Result<std::unique_ptr<Stream>> squares(std::int64_t count, int* calls) {
  return generator_stream(
      "squares", {{"x", DType::i64, {kVaries}, 16}},
      [=](std::int64_t index, Element& out,
          std::span<std::byte* const> buffers) -> Result<bool> {
        if (calls != nullptr) ++*calls;
        if (index == 3) throw std::runtime_error("no threes");
        if (index == 4) return Error{ErrorCode::io, "no fours"};
        if (index == count) return false;
        const std::int64_t square = index * index;
        std::memcpy(buffers[0], &square, 8);
        out.values[0].bytes = 8;
        out.values[0].shape = {1};
        if (index == 6) out.values[0].shape = {2};
        if (index == 7) out.values[0].bytes = 24;
        return true;
      });
}

TEST(GeneratorStream, ErrorsNameTheElement) {
  Placed stream(squares(9, nullptr));
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(firsts(stream.drain(3)), (Numbers{0, 1, 4}));
  Element element;
  EXPECT_EQ(stream->next(element).error().message,
            "element 3: squares: no threes");
  EXPECT_EQ(stream->next(element).error().message,
            "element 4: squares: no fours");
  EXPECT_EQ(firsts(stream.drain(1)), (Numbers{25}));
  for (const int wrong : {6, 7}) {
    const auto got = stream->next(element);
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("element " + std::to_string(wrong)),
              std::string::npos);
  }
  EXPECT_EQ(firsts(stream.drain()), (Numbers{64}));
  EXPECT_FALSE(*stream->next(element));
}

TEST(GeneratorStream, GoesOnByCallingAgain) {
  int calls = 0;
  Placed first(squares(9, nullptr));
  ASSERT_TRUE(first->start(0));
  first.drain(3);
  Element element;
  ASSERT_FALSE(first->next(element));
  Placed second(squares(9, &calls));
  ASSERT_TRUE(second.restore(0, first.saved()));
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(second->next(element).error().message,
            "element 4: squares: no fours");
  EXPECT_FALSE(generator_stream("none", {}, {}));
}

}  // namespace
}  // namespace plimsoll::data
