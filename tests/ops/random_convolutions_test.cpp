// Convolutions of many shapes, against references and between guards: what a
// library gets wrong, it gets wrong at some of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/op_record.h"

namespace plimsoll::ops::testing {
namespace {

// PLIMSOLL_RANDOM_SHAPES=N tries so many more.
int shapes() {
  const char* const more = std::getenv("PLIMSOLL_RANDOM_SHAPES");
  return more != nullptr ? std::atoi(more) : 150;
}

std::uint64_t seed() {
  const char* const other = std::getenv("PLIMSOLL_RANDOM_SEED");
  return other != nullptr ? static_cast<std::uint64_t>(std::atoll(other)) : 1;
}

class RandomConvolutions : public ::testing::TestWithParam<DType> {};

TEST_P(RandomConvolutions, AgreeWithReferences) {
  for (const OpRecord& record : random_convolutions(seed(), shapes())) {
    const Result<Case> test = make_case(record, GetParam());
    ASSERT_TRUE(test) << test.error().message;
    std::map<std::string, std::vector<Bytes>> seen;
    for (const int count : {1, 3}) {
      ComputeThreads threads(count);
      const auto factory = make_cpu_kernels(threads);
      for (const auto& mistake :
           check_forward(*test, *factory, threads, seen)) {
        ADD_FAILURE() << mistake << "\n"
                      << graph::to_string(record.inputs) << " "
                      << record.attrs.to_string();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RandomConvolutions,
                         ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& test) {
                           return std::string(name_of(test.param));
                         });

}  // namespace
}  // namespace plimsoll::ops::testing
