// Records of many shapes and attributes, against references and between
// guards: what a kernel or a library gets wrong, it gets wrong at some of them.
#include <gtest/gtest.h>

#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/random_shapes/environment.h"
#include "ops/random_shapes/kinds.h"

namespace plimsoll::ops::testing {
namespace {

class RandomShapes : public ::testing::TestWithParam<RandomKind> {};

TEST_P(RandomShapes, AgreeWithReferences) {
  const auto records = GetParam().drawn(random_draws(GetParam().draws));
  ASSERT_FALSE(records.empty());
  for (const OpRecord& record : records) {
    const Result<Case> test = make_case(record, GetParam().dtype_of(record));
    ASSERT_TRUE(test) << record.name << ": " << test.error().message;
    std::map<std::string, std::vector<Bytes>> seen;
    for (const int count : {1, 3}) {
      ComputeThreads threads(count);
      const auto factory = make_cpu_kernels(threads);
      for (const auto& mistake :
           check_forward(*test, *factory, threads, seen)) {
        ADD_FAILURE() << mistake << "\n"
                      << graph::to_string(test->inputs) << " "
                      << record.attrs.to_string();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomShapes,
                         ::testing::ValuesIn(random_kinds()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::ops::testing
