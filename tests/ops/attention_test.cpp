// What records cannot say of attention: memory, queries that see nothing, and
// refusals.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/autodiff.h"
#include "ops/cpu_kernels.h"
#include "ops/cuda_kernels.h"
#include "ops/harness.h"
#include "ops/reduction/reduction.h"
#include "ops/registry.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;

// Both ways of the gradient add in the same order.
TEST(Attention, WaysOfTheGradientGiveTheSameBits) {
  ComputeThreads threads(2);
  const auto factory = make_cpu_kernels(threads);
  int compared = 0;
  for (const OpRecord& record : attention_records()) {
    if (record.op->name != "attention_grad") continue;
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Result<Case> test = make_case(record, dtype);
      ASSERT_TRUE(test) << test.error().message;
      std::map<std::string, std::vector<Bytes>> seen;
      EXPECT_TRUE(check_forward(*test, *factory, threads, seen).empty());
      ASSERT_EQ(seen.size(), 2u) << record.name;
      EXPECT_EQ(seen.begin()->second, seen.rbegin()->second) << record.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 60);
}

graph::TypeList types_at(std::int64_t positions, DType dtype, bool gradient) {
  const graph::TensorType q{dtype, {1, positions, 4, 64}};
  if (!gradient) return {q, q, q};
  const DType sums = dtype == DType::f64 ? DType::f64 : DType::f32;
  return {q, q, q, q, q, {sums, {1, 4, positions}}};
}

// Scratch and outputs at so many queries and keys.
std::int64_t bytes_at(const graph::KernelCatalog& catalog,
                      std::int64_t positions, DType dtype, bool gradient) {
  const graph::OpDef* op = find_op(gradient ? "attention_grad" : "attention");
  const graph::TypeList inputs = types_at(positions, dtype, gradient);
  const graph::Attrs attrs;
  const auto outputs = op->infer(inputs, attrs);
  if (!outputs) return -1;
  std::int64_t bytes = 0;
  for (const auto& type : *outputs) bytes += type.bytes();
  const auto candidates = catalog.candidates({op, inputs, *outputs, &attrs});
  if (!candidates) return -1;
  std::int64_t most = 0;
  for (const auto& candidate : *candidates) {
    most = std::max(most, candidate.scratch_bytes);
  }
  return bytes + most;
}

TEST(Attention, MemoryIsLinearInThePositions) {
  ComputeThreads threads(3);
  const auto cpu = make_cpu_kernels(threads);
  const CudaCatalog cuda({}, {});
  const graph::KernelCatalog* catalogs[] = {cpu.get(), &cuda};
  threads.enter([&] {
    for (const graph::KernelCatalog* catalog : catalogs) {
      for (const DType dtype :
           {DType::f32, DType::f64, DType::bf16, DType::f16}) {
        for (const bool gradient : {false, true}) {
          const std::int64_t half = bytes_at(*catalog, 2048, dtype, gradient);
          const std::int64_t whole = bytes_at(*catalog, 4096, dtype, gradient);
          ASSERT_GT(half, 0);
          EXPECT_LE(whole, 2 * half);
          // All scores of a single head would be 64 MiB in f32.
          EXPECT_LT(whole, 32 << 20);
        }
      }
    }
  });
}

// Only the second query sees a key.
TEST(Attention, WhatSeesNothingGivesZeroAndHasNoGradient) {
  Builder b;
  const graph::TensorType rows{DType::f64, {1, 3, 1, 2}};
  const ValueId q = b.input("q", rows);
  const ValueId k = b.input("k", rows);
  const ValueId v = b.input("v", rows);
  const ValueId mask = b.input("mask", {DType::f64, {1, 1, 3, 3}});
  const ValueId y = attention(b, q, k, v, mask);
  const ValueId lse = b.graph().node(b.graph().value(y).producer).outputs[1];
  const ValueId loss = reduce_sum(b, y, {});
  const ValueId seed = b.input("seed", {DType::f64, {}});
  const ValueId wanted[] = {q, k, v};
  const auto gradients =
      graph::add_gradients(b, loss, seed, wanted, standard_ops());
  ASSERT_TRUE(gradients) << gradients.error().message;
  auto graph = std::move(b).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  ComputeThreads threads(1);
  const auto tensor = [&](std::vector<double> values) {
    return tensor_of(DType::f64, rows.shape, std::move(values));
  };
  const auto run = run_graph(
      *graph, 1,
      {tensor({1, 2, 3, 4, 5, 6}), tensor({1, -1, 2, 0, 1, 1}),
       tensor({7, 8, 9, 10, 11, 12}),
       tensor_of(DType::f64, {1, 1, 3, 3}, {0, 0, 0, 0, 0, 1, 0, 0, 0}),
       tensor_of(DType::f64, {}, {1})},
      threads);
  ASSERT_TRUE(run) << run.error().message;
  const auto values = [&](ValueId id) { return (*run)[id.pos()].values; };
  EXPECT_EQ(values(y), (std::vector<double>{0, 0, 11, 12, 0, 0}));
  const double none = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(values(lse)[0], none);
  EXPECT_NEAR(values(lse)[1], 7 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(values(lse)[2], none);
  EXPECT_EQ(values((*gradients)[0]), std::vector<double>(6));
  EXPECT_EQ(values((*gradients)[1]), std::vector<double>(6));
  EXPECT_EQ(values((*gradients)[2]), (std::vector<double>{0, 0, 0, 0, 1, 1}));
}

std::string refusal(const Shape& q, const Shape& k, const Shape& v,
                    const Shape& mask = {}, DType dtype = DType::f32) {
  Builder b;
  std::optional<ValueId> given;
  const ValueId inputs[] = {b.input("q", {dtype, q}), b.input("k", {dtype, k}),
                            b.input("v", {dtype, v})};
  if (mask.rank() > 0) given = b.input("mask", {dtype, mask});
  attention(b, inputs[0], inputs[1], inputs[2], given);
  return b.ok() ? "(none)" : b.status().error().message;
}

TEST(Attention, RefusesWhatDoesNotFitAndSaysWhatWould) {
  const Dim batch = Dim::batch();
  const Shape q{batch, 5, 4, 8};
  const Shape k{batch, 7, 2, 8};
  EXPECT_EQ(refusal(q, k, k), "(none)");
  EXPECT_EQ(refusal(q, k, k, {batch, 1, 1, 7}), "(none)");
  EXPECT_EQ(refusal(q, k, k, {1, 4, 5, 7}), "(none)");
  EXPECT_EQ(refusal({batch, 5, 8}, k, k),
            "attention: q must be [B, S, N, D], not f32[B, 5, 8]");
  EXPECT_EQ(refusal(q, {batch, 7, 3, 8}, k),
            "attention: k f32[B, 7, 3, 8] does not fit q f32[B, 5, 4, 8]: it "
            "must be f32[B, T, K, 8] with K a divisor of 4");
  EXPECT_EQ(refusal(q, k, {batch, 7, 2, 6}),
            "attention: v must be f32[B, 7, 2, 8], not f32[B, 7, 2, 6]");
  EXPECT_EQ(refusal(q, k, k, {batch, 7}),
            "attention: the mask f32[B, 7] does not fit q f32[B, 5, 4, 8]: it "
            "must be f32[B, 4, 5, 7], or 1 in place of any extent but the "
            "last");
  EXPECT_EQ(refusal(q, k, k, {}, DType::i32),
            "attention: q must be f32, f64, bf16 or f16, not i32[B, 5, 4, 8]");
}

}  // namespace
}  // namespace plimsoll::ops::testing
