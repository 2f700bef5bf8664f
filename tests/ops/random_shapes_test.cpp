// Products and convolutions of many shapes, against references and between
// guards: what a library gets wrong, it gets wrong at some of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/op_record.h"

namespace plimsoll::ops::testing {
namespace {

// PLIMSOLL_RANDOM_SHAPES=N tries so many instead.
int shapes() {
  const char* const more = std::getenv("PLIMSOLL_RANDOM_SHAPES");
  return more != nullptr ? std::atoi(more) : 150;
}

std::uint64_t seed() {
  const char* const other = std::getenv("PLIMSOLL_RANDOM_SEED");
  return other != nullptr ? static_cast<std::uint64_t>(std::atoll(other)) : 1;
}

struct Kind {
  const char* name;
  std::vector<OpRecord> (*records)(std::uint64_t seed, int count);
  DType dtype;
};

class RandomShapes : public ::testing::TestWithParam<Kind> {};

TEST_P(RandomShapes, AgreeWithReferences) {
  const auto records = GetParam().records(seed(), shapes());
  ASSERT_FALSE(records.empty());
  for (const OpRecord& record : records) {
    // What says its own types stands as it is.
    const DType dtype = has_other_forms(record) ? GetParam().dtype : DType::f32;
    const Result<Case> test = make_case(record, dtype);
    ASSERT_TRUE(test) << record.name << ": " << test.error().message;
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

INSTANTIATE_TEST_SUITE_P(
    Kinds, RandomShapes,
    ::testing::Values(
        Kind{"products_f32", random_products, DType::f32},
        Kind{"products_bf16", random_products, DType::bf16},
        Kind{"convolutions_f32", random_convolutions, DType::f32},
        Kind{"convolutions_bf16", random_convolutions, DType::bf16},
        Kind{"convolutions_f16", random_convolutions, DType::f16}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace plimsoll::ops::testing
