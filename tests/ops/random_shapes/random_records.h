// Records of each family at shapes that are drawn from a seed: `count` draws,
// which may be several records each.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/op_record.h"

namespace plimsoll::ops::testing {

using RandomRecords = std::vector<OpRecord>(std::uint64_t seed, int count);

// Convolutions with both of their gradients; these two stand beside the fixed
// records of their families.
RandomRecords random_products;
RandomRecords random_convolutions;

RandomRecords random_poolings;
RandomRecords random_normalizations;
RandomRecords random_attention;
RandomRecords random_softmaxes;
RandomRecords random_losses;
RandomRecords random_reductions;
RandomRecords random_moves;
RandomRecords random_packs;
RandomRecords random_indexing;
RandomRecords random_rankings;
RandomRecords random_embeddings;
RandomRecords random_updates;
RandomRecords random_resizes;
RandomRecords random_recurrent;
RandomRecords random_numbers;
RandomRecords random_elementwise;
RandomRecords random_chains;

}  // namespace plimsoll::ops::testing
