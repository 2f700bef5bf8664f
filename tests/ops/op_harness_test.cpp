// Every record of every family: candidates against references, in place and
// not, on 1, 2 and 3 threads; gradients against finite differences.
#include <gtest/gtest.h>

#include "ops/all_records.h"
#include "ops/cpu_kernels.h"
#include "ops/harness.h"

namespace plimsoll::ops::testing {
namespace {

class OpHarness : public ::testing::TestWithParam<Family> {};

void expect_none(const Mistakes& mistakes) {
  for (const std::string& mistake : mistakes) ADD_FAILURE() << mistake;
}

void check_all(const Family& family, DType floating) {
  for (const OpRecord& record : family.records()) {
    ASSERT_NE(record.op, nullptr) << "record " << record.name << ": no such op";
    if (floating != DType::f32 && !has_other_forms(record)) continue;
    const Result<Case> test = make_case(record, floating);
    if (!test && !is_trainable(floating) && is_wide_only(family, record) &&
        test.error().code == ErrorCode::bad_input) {
      continue;
    }
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

TEST_P(OpHarness, ForwardInBf16AgreesWithReference) {
  check_all(GetParam(), DType::bf16);
}

TEST_P(OpHarness, ForwardInF16AgreesWithReference) {
  check_all(GetParam(), DType::f16);
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
