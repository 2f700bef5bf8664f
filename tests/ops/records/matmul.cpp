#include "ops/matmul/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "ops/op_record.h"
#include "ops/random_shapes/random_records.h"

namespace plimsoll::ops::testing {
namespace {

graph::TensorType f32(std::vector<Dim> dims) {
  return {DType::f32, Shape(std::move(dims))};
}

std::vector<Dim> swapped_if(bool swap, Dim rows, Dim columns) {
  return swap ? std::vector<Dim>{columns, rows}
              : std::vector<Dim>{rows, columns};
}

OpRecord product(std::string name, Dim m, Dim k, Dim n, bool ta, bool tb) {
  OpRecord record;
  record.name = std::move(name);
  record.op = &matmul_op();
  record.inputs = {f32(swapped_if(ta, m, k)), f32(swapped_if(tb, k, n))};
  if (ta) record.attrs.set("transpose_a", true);
  if (tb) record.attrs.set("transpose_b", true);
  // Sums of k products, each rounded.
  record.tolerance = 2e-6 + 4e-8 * static_cast<double>(k.size);
  return record;
}

OpRecord with_gradient(OpRecord record) {
  record.gradient_of = {0, 1};
  if (record.inputs.size() > 2) record.gradient_of.push_back(2);
  return record;
}

OpRecord batched(std::string name, std::vector<Dim> a, std::vector<Dim> b,
                 bool ta, bool tb) {
  OpRecord record = product(std::move(name), 1, 1, 1, ta, tb);
  record.inputs = {f32(std::move(a)), f32(std::move(b))};
  record.tolerance = 5e-6;
  return with_gradient(std::move(record));
}

OpRecord with_epilogue(OpRecord record, Dim n, bool bias, bool relu) {
  if (bias) record.inputs.push_back(f32({n}));
  if (relu) record.attrs.set("activation", std::string("relu"));
  record.name += bias ? "_bias" : "";
  record.name += relu ? "_relu" : "";
  return record;
}

// Sizes around every boundary of the kernels: one vector, one block of
// registers, blocks of the cache, and the vectors and outer products that
// layers of one unit make.
void add_sizes(std::vector<OpRecord>& records) {
  struct Size {
    std::int64_t m, k, n;
  };
  constexpr Size kSizes[] = {{1, 1, 1},      {1, 7, 1},       {5, 1, 9},
                             {1, 33, 17},    {13, 17, 1},     {32, 100, 10},
                             {100, 32, 10},  {32, 128, 1},    {128, 32, 1},
                             {32, 1, 128},   {33, 65, 70},    {7, 600, 19},
                             {70, 530, 140}, {260, 140, 500}, {32, 1000, 128}};
  for (const Size& s : kSizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const auto name = fmt::format("matmul_{}x{}x{}{}{}", s.m, s.k, s.n,
                                      ta ? "_ta" : "", tb ? "_tb" : "");
        records.push_back(product(name, s.m, s.k, s.n, ta, tb));
        if (s.m * s.k * s.n > 100000) continue;
        records.push_back(
            with_epilogue(product(name, s.m, s.k, s.n, ta, tb), s.n, true, ta));
      }
    }
  }
}

// One long side and one of at most 16, around whole registers and parts.
void add_narrow(std::vector<OpRecord>& records) {
  const auto add = [&](std::int64_t m, std::int64_t k, std::int64_t n, bool ta,
                       bool tb, bool to_f32, bool epilogue) {
    OpRecord record =
        product(fmt::format("matmul_narrow_{}x{}x{}{}{}", m, k, n,
                            tb ? "_tb" : "", to_f32 ? "_to_f32" : ""),
                m, k, n, ta, tb);
    for (graph::TensorType& type : record.inputs) type.dtype = DType::bf16;
    if (to_f32) record.attrs.set("out", std::string("f32"));
    if (epilogue) {
      record.inputs.push_back({to_f32 ? DType::f32 : DType::bf16, Shape{n}});
      record.attrs.set("activation", std::string("relu"));
    }
    if (!to_f32) record.tolerance = 0x1p-7;
    records.push_back(std::move(record));
  };
  for (const bool tb : {false, true}) {
    for (const bool to_f32 : {false, true}) {
      add(7, 4500, 10, false, tb, to_f32, to_f32);
      add(1, 8192, 16, false, tb, to_f32, !to_f32);
      add(9, 2077, 3, false, tb, to_f32, false);
      add(5, 2048, 1, false, tb, to_f32, false);
    }
    add(9, 8200, 10, false, tb, true, true);
    add(24, 8192, 7, true, tb, true, false);
    add(7, 10, 2077, false, tb, false, false);
    add(5, 16, 2048, true, tb, false, false);
    add(4, 1, 3001, false, tb, false, false);
    add(2077, 33, 10, true, tb, true, false);
    add(2048, 1, 16, true, tb, true, false);
    add(3001, 256, 5, true, tb, true, false);
  }
}

// A matrix times a vector, larger than what any kernel calls small: pieces of
// rows and of columns of several widths, few long rows, batches.
void add_vectors(std::vector<OpRecord>& records) {
  for (const std::int64_t k : {65, 70, 72}) {
    for (const bool turned : {false, true}) {
      const auto name = [&](const char* kind) {
        return fmt::format("matmul_{}_{}{}", kind, k, turned ? "_turned" : "");
      };
      // 2,504 results in pieces of eight, 2,501 one by one.
      const std::int64_t results = k == 72 ? 2504 : 2501;
      records.push_back(with_epilogue(
          product(name("by_vector"), results, k, 1, turned, turned), 1, true,
          turned));
      records.push_back(with_epilogue(
          product(name("of_vector"), 1, k, results, turned, turned), results,
          true, !turned));
    }
  }
  // More blocks than a device holds at once: several rounds of each.
  records.push_back(
      product("matmul_by_vector_rounds", 8500, 260, 1, false, false));
  records.push_back(
      product("matmul_by_vector_rounds_turned", 5001, 65, 1, true, false));
  OpRecord one = product("matmul_by_one_vector", 1, 1, 1, true, false);
  one.inputs = {f32({3, 24, 2508}), f32({24, 1})};
  records.push_back(one);
  for (const bool turned : {false, true}) {
    OpRecord many =
        product(turned ? "matmul_by_vectors_turned" : "matmul_by_vectors", 1, 1,
                1, turned, false);
    many.inputs = {turned ? f32({3, 24, 2508}) : f32({3, 2508, 24}),
                   f32({3, 24, 1})};
    records.push_back(many);
  }
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool to_f32 : {false, true}) {
      OpRecord record =
          product(fmt::format("matmul_by_long_vector_{}{}", name_of(dtype),
                              to_f32 ? "_to_f32" : ""),
                  20, 8192, 1, false, false);
      for (graph::TensorType& type : record.inputs) type.dtype = dtype;
      record.inputs.push_back({to_f32 ? DType::f32 : dtype, Shape{1}});
      if (to_f32) record.attrs.set("out", std::string("f32"));
      if (!to_f32) record.tolerance = 0x1p-7;
      records.push_back(std::move(record));
    }
  }
}

// Nothing to sum: 0, or the bias.
void add_empty_sums(std::vector<OpRecord>& records) {
  for (const bool ta : {false, true}) {
    const std::string name = ta ? "matmul_3x0x5_ta_tb" : "matmul_3x0x5";
    for (const bool bias : {false, true}) {
      for (const bool relu : {false, true}) {
        records.push_back(
            with_epilogue(product(name, 3, 0, 5, ta, ta), 5, bias, relu));
      }
    }
  }
  OpRecord many = product("matmul_empty_sums", 1, 1, 1, false, false);
  many.inputs = {f32({2, 3, 0}), f32({2, 0, 5})};
  records.push_back(many);
  OpRecord wide = product("matmul_3x0x5_bf16_to_f32", 3, 0, 5, false, false);
  for (graph::TensorType& type : wide.inputs) type.dtype = DType::bf16;
  wide.inputs.push_back(f32({5}));
  wide.attrs.set("out", std::string("f32"));
  records.push_back(wide);
}

}  // namespace

std::vector<OpRecord> matmul_records() {
  std::vector<OpRecord> records;
  add_sizes(records);
  add_empty_sums(records);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const auto suffix = fmt::format("{}{}", ta ? "_ta" : "", tb ? "_tb" : "");
      const auto a = [&](std::vector<Dim> dims) {
        const auto pair = swapped_if(ta, 3, 4);
        dims.insert(dims.end(), pair.begin(), pair.end());
        return dims;
      };
      const auto b = [&](std::vector<Dim> dims) {
        const auto pair = swapped_if(tb, 4, 5);
        dims.insert(dims.end(), pair.begin(), pair.end());
        return dims;
      };
      records.push_back(
          with_gradient(product("matmul_gradient" + suffix, 3, 4, 5, ta, tb)));
      records.push_back(
          batched("matmul_batches" + suffix, a({2, 3}), b({2, 3}), ta, tb));
      records.push_back(
          batched("matmul_one_b" + suffix, a({2, 3}), b({}), ta, tb));
      records.push_back(
          batched("matmul_one_a" + suffix, a({}), b({3}), ta, tb));
    }
  }
  // Large enough that every device leaves it to its library.
  records.push_back(with_epilogue(
      product("matmul_large", 260, 140, 500, false, true), 500, true, true));
  records.push_back(with_epilogue(
      product("matmul_skinny", 70, 530, 140, false, true), 140, true, true));
  records.push_back(product("matmul_long", 180, 1100, 130, true, false));
  // Sums of bf16 and f16 that are not rounded to them; more rows than one
  // block of sums has.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool ta : {false, true}) {
      OpRecord record = product(
          fmt::format("matmul_{}_to_f32{}", name_of(dtype), ta ? "_ta" : ""),
          70, 300, 140, ta, ta);
      for (graph::TensorType& type : record.inputs) type.dtype = dtype;
      if (ta) record.inputs.push_back(f32({140}));
      record.attrs.set("out", std::string("f32"));
      records.push_back(std::move(record));
    }
    OpRecord record = product(fmt::format("matmul_{}_rows", name_of(dtype)),
                              500, 140, 37, false, false);
    for (graph::TensorType& type : record.inputs) type.dtype = dtype;
    record.inputs.push_back({dtype, Shape{37}});
    record.attrs.set("activation", std::string("relu"));
    record.tolerance = 0x1p-7;
    records.push_back(std::move(record));
  }
  add_narrow(records);
  add_vectors(records);
  for (const bool relu : {false, true}) {
    records.push_back(with_gradient(with_epilogue(
        product("matmul_gradient", 4, 3, 5, false, false), 5, true, relu)));
    records.push_back(with_gradient(with_epilogue(
        batched("matmul_batches", {3, 2, 4}, {3, 4, 6}, false, false), 6, true,
        relu)));
  }
  return records;
}

std::vector<OpRecord> random_products(std::uint64_t seed, int count) {
  constexpr std::int64_t kMostProducts = 4'000'000;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random() % most);
  };
  // Half of them around whole vectors.
  const auto extent = [&] {
    return below(2) == 0
               ? 1 + below(400)
               : std::max<std::int64_t>(1, 16 * below(40) - 1 + below(3));
  };
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    const std::int64_t m = extent();
    const std::int64_t k = extent();
    const std::int64_t n = extent();
    if (m * k * n > kMostProducts) continue;
    const bool ta = below(2) == 1;
    const bool tb = below(2) == 1;
    OpRecord record =
        with_epilogue(product(fmt::format("matmul_random_{}_{}", seed, made++),
                              m, k, n, ta, tb),
                      n, below(2) == 1, below(2) == 1);
    if (below(3) == 0) {
      const std::int64_t batch = 1 + below(5);
      for (std::size_t i = 0; i < 2; ++i) {
        std::vector<Dim> dims = {batch};
        for (const Dim& dim : record.inputs[i].shape.dims())
          dims.push_back(dim);
        record.inputs[i].shape = Shape(std::move(dims));
      }
    }
    if (below(3) == 0) {  // of bf16, not rounded to it; a bias stays f32
      for (std::size_t i = 0; i < 2; ++i) record.inputs[i].dtype = DType::bf16;
      record.attrs.set("out", std::string("f32"));
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace plimsoll::ops::testing
