// Every record of every family: candidates against references, in place and
// not, on 1, 2 and 3 threads; gradients against finite differences.
#include <gtest/gtest.h>

#include <set>

#include "ops/all_records.h"
#include "ops/cpu_kernels.h"
#include "ops/harness.h"

namespace plimsoll::ops::testing {
namespace {

class OpHarness : public ::testing::TestWithParam<Family> {};

void expect_none(const Mistakes& mistakes) {
  for (const std::string& mistake : mistakes) ADD_FAILURE() << mistake;
}

// Ops that stay in f32 where the others compute in bf16 or f16: losses,
// updates, and what stands between indices and their values.
bool refuses(const Case& test) {
  ComputeThreads threads(1);
  const auto factory = make_cpu_kernels(threads);
  bool refused = false;
  threads.enter([&] {
    const auto offered = factory->candidates(
        {test.record->op, test.inputs, test.outputs, &test.attrs});
    refused = !offered && offered.error().code == ErrorCode::unsupported &&
              !test.record->op->is_view;
  });
  return refused;
}

void check_all(const Family& family, DType floating) {
  for (const OpRecord& record : family.records()) {
    ASSERT_NE(record.op, nullptr) << "record " << record.name << ": no such op";
    if (floating != DType::f32 && !has_other_forms(record)) continue;
    const Result<Case> test = make_case(record, floating);
    if (!is_trainable(floating) && (!test || refuses(*test))) continue;
    if (!test) {
      ADD_FAILURE() << "record " << record.name << ": " << test.error().message;
      continue;
    }
    std::map<std::string, std::vector<Bytes>> seen;
    for (const int count : {1, 2, 3}) {
      ComputeThreads threads(count);
      const auto factory = make_cpu_kernels(threads);
      expect_none(check_forward(*test, *factory, threads, seen));
    }
  }
}

TEST_P(OpHarness, ForwardAgreesWithReference) {
  check_all(GetParam(), DType::f32);
}

TEST_P(OpHarness, ForwardInF64AgreesWithReference) {
  check_all(GetParam(), DType::f64);
}

// Where the CPU has a kernel: records of losses and updates have none.
TEST_P(OpHarness, ForwardInBf16AgreesWithReference) {
  check_all(GetParam(), DType::bf16);
}

TEST_P(OpHarness, ForwardInF16AgreesWithReference) {
  check_all(GetParam(), DType::f16);
}

TEST(OpHarnessHalves, WhatNetworksComputeInHalvesHasCpuKernels) {
  const std::set<std::string_view> needed = {
      "add",        "relu",           "gelu",    "sigmoid_grad", "where",
      "fused",      "matmul",         "cast",    "reduce_sum",   "reduce_mean",
      "reduce_max", "layer_norm",     "dropout", "batch_norm",   "transpose",
      "copy",       "divide_by_count"};
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::set<std::string_view> found;
    for (const OpRecord& record : all_records()) {
      if (!needed.contains(record.op->name) || !has_other_forms(record)) {
        continue;
      }
      const Result<Case> test = make_case(record, dtype);
      ASSERT_TRUE(test) << record.name << ": " << test.error().message;
      EXPECT_FALSE(refuses(*test)) << record.name;
      found.insert(record.op->name);
    }
    EXPECT_EQ(found, needed);
  }
}

TEST_P(OpHarness, GradientAgreesWithDifferences) {
  ComputeThreads threads(2);
  for (const OpRecord& record : GetParam().records()) {
    ASSERT_NE(record.op, nullptr) << "record " << record.name << ": no such op";
    if (record.gradient_of.empty()) continue;
    expect_none(check_gradient(record, threads));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OpHarness,
                         ::testing::ValuesIn(all_families()),
                         [](const ::testing::TestParamInfo<Family>& family) {
                           return family.param.name;
                         });

}  // namespace
}  // namespace plimsoll::ops::testing
