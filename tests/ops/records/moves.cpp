// Records of concat, split, slice, pad and expand.
#include <limits>

#include "ops/op_record.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

constexpr DType kOthers[] = {DType::f64, DType::bf16, DType::f16,
                             DType::i8,  DType::i16,  DType::i32,
                             DType::i64, DType::u8,   DType::u16,
                             DType::u32, DType::u64,  DType::boolean};

class Adder {
 public:
  Adder(std::vector<OpRecord>& records, std::string_view op)
      : records_(records), op_(op) {}

  OpRecord& operator()(const std::string& name, std::vector<Shape> shapes,
                       graph::Attrs attrs, DType dtype = DType::f32) {
    OpRecord record;
    record.name = op_ + "_" + name;
    record.op = find_op(op_);
    record.attrs = std::move(attrs);
    const double high = dtype == DType::boolean ? 1 : 100;
    for (Shape& shape : shapes) {
      record.inputs.push_back({dtype, std::move(shape)});
      record.ranges.push_back({0, high, !is_floating(dtype)});
      if (dtype == DType::f32) {
        record.gradient_of.push_back(
            static_cast<int>(record.gradient_of.size()));
      }
    }
    record.tolerance = 0;
    records_.push_back(std::move(record));
    return records_.back();
  }

 private:
  std::vector<OpRecord>& records_;
  std::string op_;
};

graph::Attrs on_axis(std::int64_t axis) { return {{"axis", axis}}; }

void add_concats(std::vector<OpRecord>& records) {
  Adder add(records, "concat");
  add("one", {{3, 4}}, on_axis(0));
  add("rows", {{3, 4}, {2, 4}}, on_axis(0));
  add("columns", {{3, 4}, {3, 1}, {3, 7}}, on_axis(1));
  add("last", {{2, 3, 5}, {2, 3, 3}}, on_axis(-1));
  add("middle", {{2, 3, 4}, {2, 1, 4}, {2, 2, 4}}, on_axis(1));
  add("vectors", {{5}, {1}, {9}}, on_axis(0));
  add("same_widths", {{6, 8}, {6, 16}, {6, 4}}, on_axis(1));
  add("nothing_in_one", {{3, 0}, {3, 2}}, on_axis(1)).gradient_of = {1};
  add("nothing", {{0, 2}, {0, 3}}, on_axis(1)).gradient_of.clear();
  add("large", {{300, 401}, {300, 123}, {300, 2}}, on_axis(1))
      .gradient_of.clear();
  add("large_rows", {{130, 1024}, {1, 1024}}, on_axis(0)).gradient_of.clear();
  add("many", std::vector<Shape>(40, Shape{3, 2}), on_axis(1));
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {{5, 3}, {5, 6}}, on_axis(1), dtype);
  }
}

void add_splits(std::vector<OpRecord>& records) {
  Adder add(records, "split");
  const auto by = [](std::int64_t axis, const Sizes& sizes) {
    return graph::Attrs{
        {"axis", axis},
        {"sizes", Shape(std::vector<Dim>(sizes.begin(), sizes.end()))}};
  };
  add("one", {{3, 4}}, by(0, {3}));
  add("rows", {{5, 4}}, by(0, {3, 2}));
  add("columns", {{3, 12}}, by(1, {4, 1, 7}));
  add("last", {{2, 3, 8}}, by(-1, {5, 3}));
  add("middle", {{2, 6, 4}}, by(1, {3, 1, 2}));
  add("equal", {{4, 16}}, by(1, {4, 4, 4, 4}));
  add("nothing_in_one", {{3, 5}}, by(1, {0, 5}));
  add("large", {{300, 526}}, by(1, {401, 123, 2})).gradient_of.clear();
  add("many", {{3, 80}}, by(1, Sizes(40, 2)));
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {{5, 9}}, by(1, {3, 6}), dtype);
  }
}

void add_slices(std::vector<OpRecord>& records) {
  Adder add(records, "slice");
  const auto at = [](Sizes starts, Sizes stops, Sizes steps) {
    return graph::Attrs{{"starts", std::move(starts)},
                        {"stops", std::move(stops)},
                        {"steps", std::move(steps)}};
  };
  add("whole", {{3, 4}}, at({0, 0}, {3, 4}, {}));
  add("scalar", {{}}, at({}, {}, {}));
  add("rows", {{7, 4}}, at({2, 0}, {5, kEnd}, {}));
  add("columns", {{7, 9}}, at({0, 3}, {kEnd, 8}, {1, 1}));
  add("one_column", {{60, 3}}, at({0, 1}, {kEnd, 2}, {}));
  add("negative", {{7, 9}}, at({-4, -8}, {-1, -2}, {1, 2}));
  add("held", {{7, 9}}, at({-40, 2}, {50, 90}, {2, 3}));
  add("steps", {{11, 10, 3}}, at({1, 0, 0}, {10, 10, 3}, {3, 2, 2}));
  add("step_of_rows", {{9, 5, 4}}, at({0, 1, 0}, {9, 4, 4}, {4, 2, 1}));
  add("huge_step", {{9, 5}}, at({2, 0}, {9, 5}, {kEnd, 1}));
  add("images", {{2, 6, 7, 3}}, at({0, 1, 2, 0}, {2, 5, 6, 3}, {}));
  add("nothing", {{4, 5}}, at({3, 0}, {2, 5}, {})).gradient_of.clear();
  add("large", {{800, 300}}, at({1, 3}, {790, 299}, {})).gradient_of.clear();
  add("large_steps", {{700, 900}}, at({1, 3}, {700, 899}, {2, 2}))
      .gradient_of.clear();
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {{5, 9}}, at({1, 2}, {5, 8}, {1, 2}),
        dtype);
  }
}

void add_pads(std::vector<OpRecord>& records) {
  Adder add(records, "pad");
  const auto by = [](Sizes before, Sizes after, double value, Sizes interior) {
    return graph::Attrs{{"before", std::move(before)},
                        {"after", std::move(after)},
                        {"value", value},
                        {"interior", std::move(interior)}};
  };
  add("by_nothing", {{3, 4}}, by({0, 0}, {0, 0}, 1, {}));
  add("scalar", {{}}, by({}, {}, 1, {}));
  add("vector", {{5}}, by({2}, {3}, -1.5, {}));
  add("matrix", {{3, 4}}, by({1, 2}, {2, 1}, 0, {}));
  add("before", {{3, 4}}, by({4, 0}, {0, 0}, 2, {}));
  add("after", {{3, 4}}, by({0, 0}, {0, 4}, 2, {}));
  add("images", {{2, 5, 4, 3}}, by({0, 1, 2, 0}, {0, 1, 1, 0}, 0, {}));
  add("four_channels", {{2, 5, 4, 4}}, by({0, 1, 1, 0}, {0, 2, 1, 0}, 0.5, {}));
  add("interior", {{4}}, by({1}, {2}, 0.25, {2}));
  add("interior_axes", {{3, 4, 2}}, by({0, 1, 0}, {1, 0, 2}, 0, {1, 2, 0}));
  add("interior_all", {{3, 1, 2}}, by({0, 1, 0}, {0, 0, 0}, 3, {2, 4, 1}));
  add("infinite", {{3, 2}},
      by({1, 0}, {0, 1}, -std::numeric_limits<double>::infinity(), {}))
      .gradient_of.clear();
  add("nothing", {{0, 2}}, by({1, 1}, {2, 0}, 4, {3, 0})).gradient_of.clear();
  add("large", {{300, 401}}, by({3, 5}, {4, 6}, 1, {})).gradient_of.clear();
  add("large_interior", {{300, 201}}, by({0, 0}, {0, 0}, 0, {1, 1}))
      .gradient_of.clear();
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {{5, 3}}, by({1, 2}, {0, 1}, 1, {0, 1}),
        dtype);
  }
  add("i64_negative", {{3, 2}}, by({1, 0}, {0, 1}, -7, {}), DType::i64);
  add("i8_negative", {{3, 2}}, by({1, 0}, {0, 1}, -128, {}), DType::i8);
}

void add_expands(std::vector<OpRecord>& records) {
  Adder add(records, "expand");
  const auto to = [](Shape shape) {
    return graph::Attrs{{"shape", std::move(shape)}};
  };
  add("scalar", {{}}, to({3, 4}));
  add("rows", {{4}}, to({3, 4}));
  add("columns", {{3, 1}}, to({3, 5}));
  add("both", {{2, 1, 3, 1}}, to({2, 4, 3, 5}));
  add("same", {{2, 3}}, to({2, 3}));
  add("large", {{300, 1}}, to({2, 300, 500})).gradient_of.clear();
  add("nothing", {{1, 3}}, to({0, 3})).gradient_of.clear();
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {{5, 1, 3}}, to({5, 2, 3}), dtype);
  }
}

}  // namespace

void add_moves(std::vector<OpRecord>& records) {
  add_concats(records);
  add_splits(records);
  add_slices(records);
  add_pads(records);
  add_expands(records);
}

}  // namespace plimsoll::ops::testing
