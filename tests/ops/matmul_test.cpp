// Products: what the catalogue offers, and that splits change nothing.
#include "ops/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "base/units.h"
#include "device/cpu/compute_threads.h"
#include "ops/cpu_kernels.h"
#include "ops/matmul/own_split.h"
#include "ops/tensor_values.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Attrs;
using graph::KernelCandidate;
using graph::TypeList;

struct Product {
  TypeList inputs;
  Attrs attrs;
};

Product product(std::int64_t m, std::int64_t k, std::int64_t n, bool ta,
                bool tb, DType dtype = DType::f32) {
  return {{{dtype, ta ? Shape{k, m} : Shape{m, k}},
           {dtype, tb ? Shape{n, k} : Shape{k, n}}},
          {{"transpose_a", ta}, {"transpose_b", tb}}};
}

std::vector<KernelCandidate> candidates(const Product& product, int size) {
  ComputeThreads threads(size);
  const auto outputs = matmul_op().infer(product.inputs, product.attrs);
  EXPECT_TRUE(outputs.ok());
  const auto found = make_cpu_kernels(threads)->candidates(
      {&matmul_op(), product.inputs, *outputs, &product.attrs});
  EXPECT_TRUE(found.ok());
  return found.ok() ? *found : std::vector<KernelCandidate>{};
}

// The result's bytes, by the first candidate whose name has `part`.
std::vector<std::byte> run(const Product& product,
                           const std::vector<RefTensor>& values, int size,
                           std::string_view part) {
  ComputeThreads threads(size);
  const auto outputs = *matmul_op().infer(product.inputs, product.attrs);
  const graph::KernelQuery query{&matmul_op(), product.inputs, outputs,
                                 &product.attrs};
  const auto factory = make_cpu_kernels(threads);
  const auto found = factory->candidates(query);
  EXPECT_TRUE(found.ok());
  for (const KernelCandidate& candidate : found.value()) {
    if (candidate.name.find(part) == std::string::npos) continue;
    const auto kernel = factory->create(query, candidate);
    EXPECT_TRUE(kernel.ok());
    const auto a = encode(values[0]);
    const auto b = encode(values[1]);
    std::vector<std::byte> c(static_cast<std::size_t>(outputs[0].bytes()));
    std::vector<std::byte> scratch(
        static_cast<std::size_t>(candidate.scratch_bytes) + 64);
    const auto skip = (64 - reinterpret_cast<std::uintptr_t>(scratch.data())) &
                      std::uintptr_t{63};
    const void* inputs[] = {a.data(), b.data()};
    void* results[] = {c.data()};
    threads.enter([&] {
      EXPECT_EQ((*kernel)->launch({inputs, results, scratch.data() + skip}),
                LaunchStatus::ok);
    });
    return c;
  }
  ADD_FAILURE() << "no candidate named " << part;
  return {};
}

std::vector<RefTensor> inputs_for(const Product& product) {
  OpRecord record;
  record.name = "matmul";
  record.inputs = product.inputs;
  return random_inputs(record, product.inputs);
}

// oneDNN 3.2 divides by what 32 bits leave of such extents.
TEST(Matmul, ExtentsBeyond32BitsAreOurs) {
  constexpr std::int64_t kTooMany = std::int64_t{1} << 32;
  for (const Product& large :
       {product(kTooMany, 16, 64, false, false),
        product(16, kTooMany, 64, true, false),
        product(1, 4, kTooMany, false, false),
        product(kTooMany / 2, 16, 64, false, true, DType::bf16)}) {
    const auto found = candidates(large, 2);
    ASSERT_FALSE(found.empty());
    for (const KernelCandidate& one : found) {
      EXPECT_EQ(one.name.find("onednn"), std::string::npos) << one.name;
      EXPECT_LT(one.private_bytes, 64 * kMiB) << one.name;
    }
  }
}

// A library's may make it 0; see matmul.h.
TEST(Matmul, NanPassesThroughOurRelu) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {1, 70}) {
      Product one = product(33, 65, n, false, false, dtype);
      one.attrs.set("activation", std::string("relu"));
      auto values = inputs_for(one);
      for (double& value : values[0].values) value = kNan;
      const graph::TensorType type{dtype, {33, n}};
      for (const double got :
           decode(type, run(one, values, 1, ":own:")).values) {
        ASSERT_TRUE(std::isnan(got)) << name_of(dtype) << " " << n;
      }
    }
  }
}

bool processor_has(std::string_view flag) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string word; file >> word;) {
    if (word == flag) return true;
  }
  return false;
}

TEST(Matmul, OurKernelsGiveTheSameBitsOnAnyNumberOfThreads) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Product big = product(190, 300, 333, ta, tb, dtype);
        const auto values = inputs_for(big);
        const auto one = run(big, values, 1, ":own:");
        EXPECT_EQ(one, run(big, values, 2, ":own:"));
        EXPECT_EQ(one, run(big, values, 3, ":own:"));
      }
    }
  }
}

TEST(Matmul, SmallProductsAreOursAndLargeOnesTheLibrarys) {
  struct Small {
    std::int64_t m, k, n;
    bool ta, tb;
  };
  constexpr Small kJobs[] = {
      {32, 100, 10, false, false}, {100, 32, 10, true, false},
      {32, 128, 1, false, false},  {128, 32, 1, true, false},
      {32, 1, 128, false, true},   {1, 1, 1, false, false}};
  for (const Small& s : kJobs) {
    const auto all = candidates(product(s.m, s.k, s.n, s.ta, s.tb), 2);
    EXPECT_TRUE(all.at(0).name.starts_with("matmul:own:")) << all[0].name;
  }
  const auto large = candidates(product(4096, 4096, 4096, false, false), 2);
  EXPECT_TRUE(large.at(0).name.starts_with("matmul:onednn:"));
}

TEST(Matmul, TheSameQueryGetsTheSameAnswer) {
  const Product one = product(64, 300, 70, true, false);
  const auto first = candidates(one, 2);
  const auto second = candidates(one, 2);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].name, second[i].name);
    EXPECT_EQ(first[i].scratch_bytes, second[i].scratch_bytes);
    EXPECT_EQ(first[i].seconds, second[i].seconds);
    if (i > 0) {
      EXPECT_LE(first[i - 1].seconds, first[i].seconds);
    }
  }
}

TEST(Matmul, ImplementationsThatAllocateAreNotOffered) {
  for (const auto& candidate :
       candidates(product(100, 200, 300, false, true), 2)) {
    EXPECT_EQ(candidate.name.find(":gemm"), std::string::npos);
    EXPECT_EQ(candidate.name.find(":ref"), std::string::npos);
  }
}

TEST(Matmul, HalvesRunOnEveryProcessor) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const auto& candidate :
         candidates(product(600, 200, 300, false, true, dtype), 2)) {
      EXPECT_EQ(candidate.name.find(":gemm"), std::string::npos);
      EXPECT_EQ(candidate.name.find(":ref"), std::string::npos);
      // Blocks, not copies of the operands.
      EXPECT_LE(candidate.scratch_bytes, 8 << 20) << candidate.name;
    }
  }
}

TEST(Matmul, Bf16RunsOnTilesWhereTheProcessorHasThem) {
  Product one = product(64, 128, 96, false, false, DType::bf16);
  one.attrs.set("out", std::string("f32"));
  const bool tiles = processor_has("amx_bf16");
  const auto values = inputs_for(one);
  const auto bytes = run(one, values, 1, tiles ? ":onednn:" : ":own:");
  const RefTensor got = decode({DType::f32, Shape{64, 96}}, bytes);
  // What the kernel sees: the values rounded to bf16.
  const RefTensor a = decode(one.inputs[0], encode(values[0]));
  const RefTensor b = decode(one.inputs[1], encode(values[1]));
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 96; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < 128; ++p) {
        sum += a.values[i * 128 + p] * b.values[p * 96 + j];
      }
      ASSERT_NEAR(got.values[i * 96 + j], sum, 1e-4) << i << ", " << j;
    }
  }
  const std::string name = candidates(one, 1).at(0).name;
  if (!tiles) {
    GTEST_SKIP() << "no AMX on this processor; bf16 ran by " << name;
  }
  EXPECT_NE(name.find("amx"), std::string::npos) << name;
}

TEST(Matmul, TheBatchSymbolPassesThrough) {
  const Dim batch = Dim::batch();
  const auto type = [](Shape shape) {
    return graph::TensorType{DType::f32, std::move(shape)};
  };
  const auto infer = [](TypeList types, Attrs attrs = {}) {
    return matmul_op().infer(types, attrs);
  };
  EXPECT_EQ(infer({type({batch, 10}), type({10, 4})})->at(0), type({batch, 4}));
  EXPECT_EQ(
      infer({type({batch, 10}), type({batch, 4})}, {{"transpose_a", true}})
          ->at(0),
      type({10, 4}));
  EXPECT_EQ(infer({type({batch, 7, 10}), type({10, 4})})->at(0),
            type({batch, 7, 4}));
  const auto wrong = infer({type({batch, 10}), type({11, 4})});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("[B, 10]"), std::string::npos);
  EXPECT_FALSE(infer({type({2, 3, 4}), type({3, 4, 5})}).ok());
  EXPECT_FALSE(infer({type({3, 4}), type({4, 5}), type({4})}).ok());
}

TEST(Matmul, PartsCoverTheWholeOnce) {
  for (const std::int64_t total : {1, 5, 64, 100, 1000}) {
    for (const std::int64_t parts : {1, 2, 3, 7}) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Span part = part_of(total, 16, parts, i);
        EXPECT_EQ(part.begin, next);
        next += part.size;
      }
      EXPECT_EQ(next, total);
    }
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
