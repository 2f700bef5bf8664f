#include <algorithm>
#include <cmath>

#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

void add_attention(std::vector<OpRecord>& records, const std::string& name,
                   const AttentionSizes& sizes, const graph::Attrs& attrs,
                   const Shape& mask, Range mask_values) {
  const Shape q{sizes.batch, sizes.queries, sizes.heads, sizes.width};
  const Shape k{sizes.batch, sizes.keys, sizes.key_heads, sizes.width};
  OpRecord forward;
  forward.name = "attention_" + name;
  forward.op = find_op("attention");
  forward.attrs = attrs;
  forward.inputs = {{DType::f32, q}, {DType::f32, k}, {DType::f32, k}};
  forward.ranges = {{-2, 2}, {-2, 2}, {-1, 1}};
  forward.gradient_of = {0, 1, 2};
  forward.gradient_outputs = 1;
  OpRecord backward = forward;
  backward.name = "attention_grad_" + name;
  backward.op = find_op("attention_grad");
  backward.inputs = {
      {DType::f32, q}, {DType::f32, q},
      {DType::f32, k}, {DType::f32, k},
      {DType::f32, q}, {DType::f32, {sizes.batch, sizes.heads, sizes.queries}}};
  // Of about the size that forward would give.
  const double lse = std::log(static_cast<double>(sizes.keys)) + 0.5;
  backward.ranges = {{-1, 1}, {-2, 2}, {-2, 2},
                     {-1, 1}, {-1, 1}, {lse, lse + 1}};
  backward.wide_inputs = {5};
  backward.gradient_of.clear();
  backward.gradient_outputs = 0;
  for (OpRecord* record : {&forward, &backward}) {
    if (mask.rank() > 0) {
      record->inputs.push_back({DType::f32, mask});
      record->ranges.push_back(mask_values);
    }
    records.push_back(std::move(*record));
  }
}

namespace {

using graph::Attrs;

const Attrs kCausal = {{"causal", true}};

class Records {
 public:
  void both(const std::string& name, const AttentionSizes& sizes,
            const Attrs& attrs = {}, const Shape& mask = {},
            Range mask_values = {0, 1, true}) {
    add_attention(all, name, sizes, attrs, mask, mask_values);
  }
  // The op alone; its gradient tells nothing that others do not.
  void forward(const std::string& name, const AttentionSizes& sizes,
               const Attrs& attrs = {}, const Shape& mask = {}) {
    both(name, sizes, attrs, mask);
    all.pop_back();
  }
  // Both, where finite differences would tell nothing new or take long.
  void large(const std::string& name, const AttentionSizes& sizes,
             const Attrs& attrs = {}, const Shape& mask = {}) {
    both(name, sizes, attrs, mask);
    all[all.size() - 2].gradient_of.clear();
  }
  void large_forward(const std::string& name, const AttentionSizes& sizes,
                     const Attrs& attrs = {}) {
    large(name, sizes, attrs);
    all.pop_back();
  }

  std::vector<OpRecord> all;
};

// batch, queries, keys, heads, key heads, width
void add_small(Records& records) {
  records.both("plain", {2, 5, 5, 2, 2, 3});
  records.both("causal", {2, 6, 6, 2, 2, 4}, kCausal);
  records.both("cross", {2, 3, 7, 2, 2, 5});
  records.forward("causal_fewer_queries", {1, 3, 7, 2, 2, 5}, kCausal);
  records.both("causal_more_queries", {1, 7, 3, 2, 2, 5}, kCausal);
  records.both("one_query", {2, 1, 9, 2, 2, 8});
  records.forward("one_query_causal", {1, 1, 4, 2, 2, 8}, kCausal);
  records.forward("one_key", {2, 6, 1, 2, 2, 3});
  records.both("one_of_each", {1, 1, 1, 1, 1, 1});
  records.both("width_1", {2, 6, 8, 3, 3, 1});
  records.both("width_64", {1, 9, 11, 2, 2, 64});
  records.both("width_128", {1, 5, 6, 2, 2, 128}, kCausal);
  records.both("scaled", {1, 6, 6, 2, 2, 4}, {{"scale", 0.3}});
  records.forward("grouped", {2, 5, 6, 6, 2, 4});
  records.both("grouped_causal", {1, 6, 6, 4, 1, 5}, kCausal);
}

void add_masked(Records& records) {
  records.forward("key_padding", {3, 4, 9, 2, 2, 5}, {}, {3, 1, 1, 9});
  records.both("key_padding_causal", {2, 9, 9, 2, 1, 5}, kCausal, {2, 1, 1, 9});
  records.both("full_mask", {2, 5, 7, 3, 3, 4}, {}, {2, 3, 5, 7});
  records.forward("mask_of_all_heads", {2, 5, 7, 2, 2, 4}, {}, {2, 1, 5, 7});
  records.forward("mask_of_each_head", {2, 5, 7, 2, 2, 4}, {}, {1, 2, 1, 7});
  records.both("mask_of_all", {2, 6, 6, 2, 2, 4}, kCausal, {1, 1, 6, 6});
  // Few keys: some queries see none of them.
  records.both("masked_rows", {1, 16, 2, 2, 2, 4}, {}, {1, 2, 16, 2});
  records.both("all_masked", {1, 4, 5, 2, 2, 3}, {}, {1, 1, 1, 5}, {0, 0});
}

void add_large(Records& records) {
  records.both("odd", {1, 67, 70, 1, 1, 5});
  records.both("odd_causal", {1, 70, 70, 1, 1, 7}, kCausal);
  records.large_forward("blocks", {1, 128, 128, 2, 2, 64});
  records.large("blocks_causal", {2, 192, 192, 3, 3, 64}, kCausal);
  records.large("long", {1, 65, 515, 1, 1, 20});
  records.large("long_queries", {1, 515, 65, 1, 1, 20}, kCausal);
  records.large_forward("one_query_long", {3, 1, 700, 4, 2, 64});
  records.large("grouped_causal_long", {1, 150, 150, 6, 2, 40}, kCausal);
  records.large("masked_long", {2, 130, 140, 2, 2, 33}, {}, {2, 1, 130, 140});
  records.large("key_padding_long", {2, 100, 260, 2, 2, 64}, {},
                {2, 1, 1, 260});
  records.large_forward("width_96", {1, 70, 66, 2, 1, 96}, kCausal);
  records.large_forward("width_128_long", {1, 130, 130, 2, 2, 128});
  records.large("width_200", {1, 66, 70, 1, 1, 200});
  // Heads that the matrix units of a GPU take in 16 bits.
  records.large("width_16", {1, 300, 140, 2, 2, 16}, kCausal);
  records.large("width_32_grouped", {1, 270, 300, 4, 2, 32}, kCausal);
  records.large("width_48_masked", {2, 70, 150, 2, 2, 48}, {}, {2, 1, 70, 150});
  records.large("width_64_long", {1, 530, 520, 2, 1, 64});
  // What a GPU's library takes in 16 bits: at once, with lengths of no round
  // number, groups, some examples at a time, some heads at a time.
  records.large("library", {2, 320, 320, 4, 4, 64}, kCausal);
  records.large("library_odd", {1, 201, 266, 6, 6, 128});
  records.large("library_grouped", {2, 256, 256, 8, 2, 64}, kCausal);
  records.large("library_some_examples", {66, 64, 256, 8, 8, 8});
  records.large("library_some_heads", {1, 64, 64, 1024, 1024, 8});
  // The largest score changes from block to block; scores are of hundreds, so
  // that their own rounding shows.
  records.large_forward("wide_range", {1, 70, 300, 2, 2, 16});
  OpRecord& wide = records.all.back();
  wide.ranges = {{-20, 20}, {-20, 20}, {-1, 1}};
  wide.tolerance = 1e-3;
  wide.f64_tolerance = 1e-11;
}

}  // namespace

std::vector<OpRecord> attention_records() {
  Records records;
  add_small(records);
  add_masked(records);
  add_large(records);
  return std::move(records.all);
}

}  // namespace plimsoll::ops::testing
