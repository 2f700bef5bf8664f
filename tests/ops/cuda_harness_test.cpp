// Every record of every family on the GPU, in every floating dtype, and records
// at random shapes, against the f64 reference.
#include "ops/cuda_harness.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "ops/all_records.h"
#include "ops/random_shapes/environment.h"
#include "ops/random_shapes/kinds.h"

namespace plimsoll::ops::testing {
namespace {

constexpr int kCompilers = 2;  // at once; parts of this run beside each other

// All take minutes where a GPU is emulated. There an eighth is run, others in
// each dtype; with PLIMSOLL_ALL_KERNELS=1, which CI sets, all in f32 and bf16.
bool chosen(std::size_t number, DType dtype) {
  if (std::getenv("FAKE_CUDA_COMPUTES") == nullptr) return true;
  if (std::getenv("PLIMSOLL_ALL_KERNELS") != nullptr &&
      (dtype == DType::f32 || dtype == DType::bf16)) {
    return true;
  }
  constexpr std::size_t kSome = 8;
  return number % kSome == static_cast<std::size_t>(dtype);
}

// The device is open from a suite's first test to its last.
template <class Parameter>
class OnDevice : public ::testing::TestWithParam<Parameter> {
 protected:
  static void SetUpTestSuite() {
    auto module = open_cuda_module();
    auto opened = module ? (*module)->open(0, "")
                         : Result<std::unique_ptr<CudaDevice>>(module.error());
    if (!opened) {
      missing = opened.error().message;
      return;
    }
    device = *std::move(opened);
  }
  static void TearDownTestSuite() { device.reset(); }

  void SetUp() override {
    if (!device) GTEST_SKIP() << "needs a GPU: " << missing;
  }

  static void check(const std::vector<Case>& cases,
                    const CudaCatalog& catalog) {
    std::vector<std::string> kernels;
    for (const Case& test : cases) {
      for (std::string& kernel : kernels_of(test, catalog)) {
        kernels.push_back(std::move(kernel));
      }
    }
    device->compile_ahead(kernels, kCompilers);
    auto stream = device->make_stream();
    ASSERT_TRUE(stream) << stream.error().message;
    CudaHarness harness(*device, **stream);
    for (const Case& test : cases) {
      for (const std::string& mistake : harness.check(test, catalog)) {
        ADD_FAILURE() << mistake << "\n"
                      << graph::to_string(test.inputs) << " "
                      << test.attrs.to_string();
      }
    }
  }

  static inline std::unique_ptr<CudaDevice> device;
  static inline std::string missing;
};

class CudaOpHarness : public OnDevice<Family> {
 protected:
  void check_all(DType floating, bool library_wherever = false) {
    const std::vector<OpRecord> records = GetParam().records();
    std::vector<Case> cases;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const OpRecord& record = records[i];
      if (!chosen(i, floating)) continue;
      if (floating != DType::f32 && !has_other_forms(record)) continue;
      Result<Case> test = make_case(record, floating);
      if (!test && !is_trainable(floating) &&
          is_wide_only(GetParam(), record) &&
          test.error().code == ErrorCode::bad_input) {
        continue;
      }
      if (!test) {
        ADD_FAILURE() << record.name << ": " << test.error().message;
        continue;
      }
      cases.push_back(*std::move(test));
    }
    check(cases, CudaCatalog(device->profile(),
                             {.library_layers = true,
                              .library_wherever = library_wherever}));
  }
};

TEST_P(CudaOpHarness, F32AgreesWithReference) { check_all(DType::f32); }
TEST_P(CudaOpHarness, F64AgreesWithReference) { check_all(DType::f64); }
TEST_P(CudaOpHarness, Bf16AgreesWithReference) { check_all(DType::bf16); }
TEST_P(CudaOpHarness, F16AgreesWithReference) { check_all(DType::f16); }

// cuDNN's layers at every shape that they take, also where plans have ours.
TEST_P(CudaOpHarness, LibraryAgreesWhereverItCan) {
  const std::string& family = GetParam().name;
  if (family != "normalization" && family != "pooling") GTEST_SKIP();
  if (!suits_library_layers(device->profile())) {
    GTEST_SKIP() << "plans for this GPU have no layers of the library";
  }
  check_all(DType::bf16, true);
  check_all(DType::f16, true);
}

// Relu as part of a product of our own keeps NaN; what the library's does is
// only shown (see ops/matmul/matmul.h).
TEST_P(CudaOpHarness, NanPassesThroughOurRelu) {
  if (std::string_view(GetParam().name) != "matmul") GTEST_SKIP();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  auto stream = device->make_stream();
  ASSERT_TRUE(stream) << stream.error().message;
  CudaHarness harness(*device, **stream);
  const CudaCatalog catalog(device->profile(), {});
  for (const char* name :
       {"matmul_7x600x19_ta_bias_relu", "matmul_skinny_bias_relu",
        "matmul_large_bias_relu"}) {
    for (OpRecord record : GetParam().records()) {
      if (record.name != name) continue;
      record.ranges = {{kNan, kNan}};
      const Result<Case> test = make_case(record, DType::f32);
      ASSERT_TRUE(test) << test.error().message;
      const Mistakes mistakes = harness.check(*test, catalog);
      const bool ours = record.name != "matmul_large_bias_relu";
      if (ours) {
        EXPECT_TRUE(mistakes.empty()) << mistakes[0];
      } else {
        std::printf("cuBLASLt's relu %s NaN\n",
                    mistakes.empty() ? "keeps" : "does not keep");
      }
      RecordProperty(name, mistakes.empty() ? "NaN" : mistakes[0]);
    }
  }
}

using CudaRandomShapes = OnDevice<RandomKind>;

TEST_P(CudaRandomShapes, AgreeWithReferences) {
  const auto records = GetParam().drawn(random_draws(1));
  ASSERT_FALSE(records.empty());
  std::vector<Case> cases;
  for (const OpRecord& record : records) {
    Result<Case> test = make_case(record, GetParam().dtype_of(record));
    ASSERT_TRUE(test) << record.name << ": " << test.error().message;
    cases.push_back(*std::move(test));
  }
  check(cases, CudaCatalog(device->profile(), {.library_layers = true}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaRandomShapes,
                         ::testing::ValuesIn(random_kinds()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Families, CudaOpHarness,
                         ::testing::ValuesIn(all_families()),
                         [](const ::testing::TestParamInfo<Family>& family) {
                           return family.param.name;
                         });

}  // namespace
}  // namespace plimsoll::ops::testing
