#include "ops/random_shapes/kinds.h"

#include "ops/harness.h"
#include "ops/random_shapes/environment.h"

namespace plimsoll::ops::testing {

std::vector<OpRecord> RandomKind::drawn(int count) const {
  return records(100 * random_seed() + static_cast<std::uint64_t>(dtype),
                 count);
}

DType RandomKind::dtype_of(const OpRecord& record) const {
  return has_other_forms(record) ? dtype : DType::f32;
}

std::vector<RandomKind> random_kinds() {
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
  std::vector<RandomKind> kinds;
  for (const Family& family : families) {
    for (const DType dtype : family.dtypes) {
      kinds.push_back(
          {std::string(family.name) + "_" + std::string(name_of(dtype)),
           family.records, dtype, family.draws});
    }
  }
  return kinds;
}

}  // namespace plimsoll::ops::testing
