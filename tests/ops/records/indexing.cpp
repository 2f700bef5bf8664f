#include <limits>

#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

constexpr DType kOthers[] = {DType::f64, DType::bf16, DType::f16,
                             DType::i8,  DType::i16,  DType::i32,
                             DType::i64, DType::u8,   DType::u16,
                             DType::u32, DType::u64,  DType::boolean};
constexpr DType kIndices[] = {DType::i8, DType::i16, DType::i64,
                              DType::u8, DType::u16, DType::u32};

}  // namespace

OpRecord indexing_record(std::string name, std::string_view op,
                         graph::TypeList inputs, graph::Attrs attrs) {
  OpRecord record;
  record.name = std::move(name);
  record.op = find_op(op);
  record.inputs = std::move(inputs);
  record.attrs = std::move(attrs);
  record.tolerance = 0;
  for (const graph::TensorType& type : record.inputs) {
    const double high = type.dtype == DType::boolean ? 1 : 100;
    record.ranges.push_back({0, high, !is_floating(type.dtype)});
  }
  return record;
}

namespace {

// Values of few different ones: ties everywhere.
OpRecord with_ties(OpRecord record) {
  const bool below = record.inputs[0].dtype <= DType::i64 &&
                     record.inputs[0].dtype != DType::boolean;
  record.name += "_ties";
  record.ranges[0] = {below ? -3.0 : 0.0, below ? 3.0 : 1.0, true};
  record.gradient_of.clear();
  return record;
}

void add_gathers(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, graph::TensorType table,
                       graph::TensorType indices, std::int64_t axis,
                       Range range) -> OpRecord& {
    records.push_back(indexing_record("gather_" + name, "gather",
                                      {table, indices}, {{"axis", axis}}));
    records.back().ranges[1] = range;
    if (table.dtype == DType::f32) records.back().gradient_of = {0};
    return records.back();
  };
  const auto f32 = [](Shape shape) {
    return graph::TensorType{DType::f32, std::move(shape)};
  };
  const auto i32 = [](Shape shape) {
    return graph::TensorType{DType::i32, std::move(shape)};
  };
  add("rows", f32({7, 5}), i32({4}), 0, {0, 6, true});
  add("one_index", f32({7, 5}), i32({}), 0, {0, 6, true});
  add("embedding", f32({11, 8}), i32({3, 6}), 0, {0, 10, true});
  add("columns", f32({5, 9}), i32({2, 2}), 1, {0, 8, true});
  add("middle", f32({3, 4, 6}), i32({5}), -2, {0, 3, true});
  add("vector", f32({13}), i32({20}), 0, {0, 12, true});
  add("from_the_end", f32({7, 4}), i32({9}), 0, {-7, 6, true});
  add("outside", f32({5, 3}), i32({40}), 0, {-9, 8, true}).gradient_of.clear();
  add("wild", f32({5, 3}), i32({9}), 0, {-2e9, 2e9, true}).gradient_of.clear();
  add("none", f32({5, 3}), i32({0}), 0, {0, 4, true}).gradient_of.clear();
  add("empty_table", f32({0, 3}), i32({4}), 0, {0, 4, true})
      .gradient_of.clear();
  add("large", f32({700, 130}), i32({900}), 0, {0, 699, true})
      .gradient_of.clear();
  add("large_planes", f32({50, 40, 33}), i32({60}), 1, {0, 39, true})
      .gradient_of.clear();
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {dtype, {5, 3}}, i32({12}), 0,
        {-6, 6, true});
  }
  for (const DType dtype : kIndices) {
    add("by_" + std::string(name_of(dtype)), f32({7, 4}), {dtype, {9}}, 0,
        {0, 6, true});
  }
  OpRecord& zeros =
      add("zeros_outside", f32({5, 3}), i32({40}), 0, {-9, 8, true});
  zeros.attrs.set("zeros", true);
}

void add_scatters(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, Shape values, Shape indices,
                       std::int64_t extent, std::int64_t axis,
                       Range range) -> OpRecord& {
    records.push_back(indexing_record(
        "scatter_add_" + name, "scatter_add",
        {{DType::f32, std::move(values)}, {DType::i32, std::move(indices)}},
        {{"axis", axis}, {"extent", extent}}));
    OpRecord& record = records.back();
    record.ranges = {{-1, 1}, range};
    record.tolerance = 1e-5;
    record.gradient_of = {0};
    return record;
  };
  add("rows", {6, 5}, {6}, 4, 0, {0, 3, true});
  add("one_index", {5}, {}, 4, 0, {0, 3, true});
  add("embedding", {3, 6, 8}, {3, 6}, 11, 0, {0, 10, true});
  add("columns", {5, 9}, {9}, 3, 1, {0, 2, true});
  add("middle", {3, 5, 6}, {5}, 4, -2, {0, 3, true});
  add("vector", {40}, {40}, 7, 0, {0, 6, true});
  add("from_the_end", {9, 4}, {9}, 5, 0, {-5, 4, true});
  add("outside", {40, 3}, {40}, 5, 0, {-9, 8, true});
  add("wild", {9, 3}, {9}, 5, 0, {-2e9, 2e9, true});
  add("none", {0, 3}, {0}, 5, 0, {0, 4, true}).gradient_of.clear();
  add("no_rows", {4, 3}, {4}, 0, 0, {0, 4, true}).gradient_of.clear();
  const auto onto = [](OpRecord& record, Shape base) {
    record.name += "_onto";
    record.inputs.push_back({DType::f32, std::move(base)});
    record.ranges.push_back({-1, 1});
    if (!record.gradient_of.empty()) record.gradient_of.push_back(2);
  };
  onto(add("embedding", {3, 6, 8}, {3, 6}, 11, 0, {0, 10, true}), {11, 8});
  onto(add("middle", {3, 5, 6}, {5}, 4, -2, {-6, 5, true}), {3, 4, 6});
  onto(add("none", {0, 3}, {0}, 5, 0, {0, 4, true}), {5, 3});
  records.back().gradient_of.clear();
  onto(add("sorted", {9000, 5}, {9000}, 4000, 0, {-4200, 4200, true}),
       {4000, 5});
  records.back().gradient_of.clear();
  add("one_row", {300, 65}, {300}, 1, 0, {0, 0, true}).gradient_of.clear();
  add("wide", {300, 700}, {300}, 30, 0, {0, 29, true}).gradient_of.clear();
  add("narrow", {70000, 3}, {70000}, 90, 0, {0, 89, true}).gradient_of.clear();
  records.back().tolerance = 1e-4;
  add("planes", {80, 50, 21}, {50}, 33, 1, {0, 32, true}).gradient_of.clear();
  // Sorted on CUDA: few indices a row, then many for some.
  add("sorted", {9000, 5}, {9000}, 4000, 0, {-4200, 4200, true})
      .gradient_of.clear();
  add("sorted_planes", {3, 9000, 5}, {9000}, 2000, 1, {-2100, 2100, true})
      .gradient_of.clear();
  add("sorted_planes_few_rows", {3, 20000, 4}, {20000}, 600, -2, {0, 3, true})
      .gradient_of.clear();
  records.back().tolerance = 1e-4;
  // More rows than are looked for one by one.
  add("sorted_many_rows", {500, 3}, {500}, 70000, 0, {-70000, 69999, true})
      .gradient_of.clear();
  add("sorted_bytes", {9000, 5}, {9000}, 4000, 0, {-128, 127, true})
      .inputs[1]
      .dtype = DType::i8;
  records.back().gradient_of.clear();
  add("sorted_few_rows", {40000, 8}, {40000}, 1000, 0, {0, 60, true})
      .gradient_of.clear();
  records.back().tolerance = 1e-4;
  add("sorted_some_rows", {40000, 8}, {40000}, 1000, 0, {0, 999, true})
      .gradient_of.clear();
  records.back().tolerance = 1e-4;
  for (const DType dtype : kIndices) {
    add("by_" + std::string(name_of(dtype)), {9, 4}, {9}, 7, 0, {0, 6, true})
        .inputs[1]
        .dtype = dtype;
  }
}

void add_argmaxes(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, Shape shape, std::int64_t axis,
                       bool keepdims = false, DType dtype = DType::f32) {
    records.push_back(
        indexing_record("argmax_" + name, "argmax", {{dtype, std::move(shape)}},
                        {{"axis", axis}, {"keepdims", keepdims}}));
    records.push_back(with_ties(records.back()));
  };
  add("vector", {10}, 0);
  add("one", {3, 1}, 1);
  add("rows", {9, 37}, -1);
  add("kept", {9, 37}, 1, true);
  add("columns", {37, 9}, 0);
  add("middle", {4, 6, 70}, 1, true);
  add("long_rows", {3, 2500}, 1);
  add("many_rows", {4000, 40}, 1);
  add("many_columns", {40, 4000}, 0);
  add("no_rows", {0, 4}, 1);
  add("nan", {3, 40}, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  records[records.size() - 2].ranges = {{nan, nan}};
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {5, 70}, 1, false, dtype);
    add(std::string(name_of(dtype)) + "_columns", {70, 5}, 0, false, dtype);
  }
}

void add_topks(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, Shape shape, std::int64_t k,
                       DType dtype = DType::f32) {
    records.push_back(indexing_record("topk_" + name, "topk",
                                      {{dtype, std::move(shape)}}, {{"k", k}}));
    if (dtype == DType::f32) records.back().gradient_of = {0};
    records.push_back(with_ties(records.back()));
  };
  add("vector", {10}, 3);
  add("one_of_one", {4, 1}, 1);
  add("first", {6, 20}, 1);
  add("all", {5, 9}, 9);
  add("cube", {2, 3, 33}, 5);
  add("long_rows", {3, 2500}, 40);
  add("many_rows", {3000, 40}, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    records[records.size() - 1 - i].gradient_of.clear();
  }
  add("nan", {3, 40}, 4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  records[records.size() - 2].ranges = {{nan, nan}};
  records[records.size() - 2].gradient_of.clear();
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {5, 40}, dtype == DType::boolean ? 40 : 6,
        dtype);
  }
  const auto add_grad = [&](const std::string& name, Shape shape,
                            std::int64_t width, DType dtype = DType::f32) {
    // One index a row, so that none is named twice.
    records.push_back(indexing_record("topk_grad_" + name, "topk_grad",
                                      {{dtype, shape}, {DType::i64, shape}},
                                      {{"width", width}}));
    records.back().ranges[1] = {-1, static_cast<double>(width), true};
  };
  add_grad("rows", {40, 1}, 9);
  add_grad("long_rows", {3, 1}, 2500);
  add_grad("many_rows", {3000, 1}, 60);
  for (const DType dtype : kOthers) {
    add_grad(std::string(name_of(dtype)), {7, 1}, 5, dtype);
  }
}

void add_one_hots(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, graph::TensorType indices,
                       std::int64_t depth, DType dtype, Range range) {
    records.push_back(indexing_record(
        "one_hot_" + name, "one_hot", {std::move(indices)},
        {{"depth", depth}, {"dtype", std::string(name_of(dtype))}}));
    records.back().ranges = {range};
  };
  const Range around{-2, 11, true};
  add("vector", {DType::i32, {30}}, 10, DType::f32, around);
  add("one_index", {DType::i32, {}}, 10, DType::f32, {3, 3, true});
  add("depth_of_one", {DType::i32, {9}}, 1, DType::f32, {-1, 1, true});
  add("matrix", {DType::i32, {5, 6}}, 7, DType::f32, {0, 6, true});
  add("large", {DType::i32, {3000}}, 101, DType::f32, {0, 100, true});
  add("none", {DType::i32, {0}}, 7, DType::f32, {0, 6, true});
  for (const DType dtype : kOthers) {
    add(std::string(name_of(dtype)), {DType::i32, {30}}, 10, dtype, around);
  }
  for (const DType dtype : kIndices) {
    add("by_" + std::string(name_of(dtype)), {dtype, {9}}, 7, DType::f32,
        {0, 6, true});
  }
}

}  // namespace

std::vector<OpRecord> indexing_records() {
  std::vector<OpRecord> records;
  add_gathers(records);
  add_scatters(records);
  add_argmaxes(records);
  add_topks(records);
  add_one_hots(records);
  return records;
}

}  // namespace plimsoll::ops::testing
