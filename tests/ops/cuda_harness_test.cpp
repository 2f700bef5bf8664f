// Every record of every family on the GPU, in every floating dtype, against
// the f64 reference.
#include "ops/cuda_harness.h"

#include <gtest/gtest.h>

#include "ops/all_records.h"

namespace plimsoll::ops::testing {
namespace {

class CudaOpHarness : public ::testing::TestWithParam<Family> {
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

  void check_all(DType floating) {
    auto stream = device->make_stream();
    ASSERT_TRUE(stream) << stream.error().message;
    CudaHarness harness(*device, **stream);
    const CudaCatalog catalog(device->profile(), {});
    for (const OpRecord& record : GetParam().records()) {
      if (floating != DType::f32 && !has_other_forms(record)) continue;
      const Result<Case> test = make_case(record, floating);
      // Updates are defined for what trains, f32 and f64.
      if (!test && !is_trainable(floating) &&
          test.error().code == ErrorCode::bad_input) {
        continue;
      }
      if (!test) {
        ADD_FAILURE() << record.name << ": " << test.error().message;
        continue;
      }
      for (const std::string& mistake : harness.check(*test, catalog)) {
        ADD_FAILURE() << mistake;
      }
    }
  }

  static std::unique_ptr<CudaDevice> device;
  static std::string missing;
};

std::unique_ptr<CudaDevice> CudaOpHarness::device;
std::string CudaOpHarness::missing;

TEST_P(CudaOpHarness, F32AgreesWithReference) { check_all(DType::f32); }
TEST_P(CudaOpHarness, F64AgreesWithReference) { check_all(DType::f64); }
TEST_P(CudaOpHarness, Bf16AgreesWithReference) { check_all(DType::bf16); }
TEST_P(CudaOpHarness, F16AgreesWithReference) { check_all(DType::f16); }

INSTANTIATE_TEST_SUITE_P(Families, CudaOpHarness,
                         ::testing::ValuesIn(all_families()),
                         [](const ::testing::TestParamInfo<Family>& family) {
                           return family.param.name;
                         });

}  // namespace
}  // namespace plimsoll::ops::testing
