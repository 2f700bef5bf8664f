// Records of many shapes and attributes, against references and between
// guards: what a kernel or a library gets wrong, it gets wrong at some of them.
#include <gtest/gtest.h>

#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/random_shapes/environment.h"
#include "ops/random_shapes/random_records.h"

namespace plimsoll::ops::testing {
namespace {

struct Kind {
  std::string name;
  RandomRecords* records = nullptr;
  DType dtype = DType::f32;
  int draws = 0;  // without PLIMSOLL_RANDOM_SHAPES
};

// Other shapes in each dtype.
std::uint64_t seed_of(const Kind& kind) {
  return 100 * random_seed() + static_cast<std::uint64_t>(kind.dtype);
}

std::vector<Kind> all_kinds() {
  struct Family {
    const char* name;
    RandomRecords* records;
    int draws;
    std::vector<DType> dtypes;
  };
  const std::vector<DType> all = {DType::f32, DType::bf16, DType::f16,
                                  DType::f64};
  const std::vector<DType> wide = {DType::f32, DType::f64};
  const std::vector<Family> families = {
      {"products", random_products, 150, {DType::f32, DType::bf16}},
      {"more_products", random_products, 50, {DType::f16, DType::f64}},
      {"convolutions",
       random_convolutions,
       150,
       {DType::f32, DType::bf16, DType::f16}},
      {"more_convolutions", random_convolutions, 50, {DType::f64}},
      {"poolings", random_poolings, 30, all},
      {"normalizations", random_normalizations, 60, all},
      {"attention", random_attention, 30, all},
      {"softmaxes", random_softmaxes, 60, all},
      {"losses", random_losses, 15, all},
      {"reductions", random_reductions, 100, all},
      {"moves", random_moves, 60, {DType::f32}},
      {"packs", random_packs, 100, {DType::f32}},
      {"indexing", random_indexing, 60, all},
      {"rankings", random_rankings, 150, all},
      {"embeddings", random_embeddings, 60, wide},
      {"updates", random_updates, 100, wide},
      {"resizes", random_resizes, 30, all},
      {"recurrent", random_recurrent, 60, all},
      {"numbers", random_numbers, 60, all},
      {"elementwise", random_elementwise, 300, all},
      {"chains", random_chains, 100, all}};
  std::vector<Kind> kinds;
  for (const Family& family : families) {
    for (const DType dtype : family.dtypes) {
      kinds.push_back(
          {std::string(family.name) + "_" + std::string(name_of(dtype)),
           family.records, dtype, family.draws});
    }
  }
  return kinds;
}

// In the names of tests.
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class RandomShapes : public ::testing::TestWithParam<Kind> {};

TEST_P(RandomShapes, AgreeWithReferences) {
  const auto records =
      GetParam().records(seed_of(GetParam()), random_draws(GetParam().draws));
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
                      << graph::to_string(test->inputs) << " "
                      << record.attrs.to_string();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomShapes, ::testing::ValuesIn(all_kinds()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::ops::testing
