// Records of pack and unpack.
#include "graph/layout.h"
#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

void add_packed(std::vector<OpRecord>& records, const std::string& name,
                Shape shape, const graph::Layout& layout, DType dtype) {
  OpRecord record;
  record.name = "pack_" + name;
  record.op = find_op("pack");
  record.inputs = {{dtype, shape}};
  record.attrs = graph::attrs_of(layout);
  record.ranges = {{0, 100, !is_floating(dtype)}};
  record.tolerance = 0;
  records.push_back(record);
  record.name = "un" + record.name;
  record.op = find_op("unpack");
  record.inputs = {{dtype, {layout.elements()}}};
  record.attrs.set("shape", std::move(shape));
  records.push_back(std::move(record));
}

void add_packs(std::vector<OpRecord>& records) {
  const auto add = [&](const std::string& name, Shape shape,
                       const graph::Layout& layout, DType dtype = DType::f32) {
    add_packed(records, name, std::move(shape), layout, dtype);
  };
  add("as_it_lies", {3, 5}, {{3, 5}, {5, 1}, {}, {}});
  add("transposed", {3, 5}, {{3, 5}, {1, 3}, {}, {}});
  add("one", {1}, {{1}, {1}, {}, {}});
  add("columns", {8, 6}, {{8, 6}, {4, 8}, {0}, {4}});
  add("padded", {7, 5}, {{7, 5}, {4, 8}, {0}, {4}});
  add("padded_both", {7, 5}, {{7, 5}, {24, 12}, {1, 0}, {3, 4}});
  add("three_blocks", {8, 10}, {{8, 10}, {96, 32}, {0, 1, 0}, {2, 4, 4}});
  add("one_block", {3, 2}, {{3, 2}, {64, 64}, {1, 0}, {4, 16}});
  // Kernels of a convolution: filters innermost, and in groups.
  add("filters", {32, 3, 3, 16},
      {{32, 3, 3, 16}, {2304, 768, 256, 2304}, {3, 0}, {16, 16}});
  add("odd_filters", {21, 3, 2, 19},
      {{21, 3, 2, 19}, {6144, 1024, 512, 3072}, {3, 0}, {16, 32}});
  // Pairs of channels innermost, as products of 16 bits want them.
  add("pairs", {32, 3, 2, 8},
      {{32, 3, 2, 8}, {768, 256, 128, 128}, {3, 0, 3}, {4, 16, 2}});
  add("padded_pairs", {20, 1, 1, 6},
      {{20, 1, 1, 6}, {128, 128, 128, 128}, {3, 0, 3}, {4, 16, 2}});
  add("odd_pairs", {20, 1, 1, 5},
      {{20, 1, 1, 5}, {128, 128, 128, 128}, {3, 0, 3}, {4, 16, 2}});
  add("pairs_of_sources", {8, 1, 1, 70},
      {{8, 1, 1, 70}, {96, 96, 96, 384}, {3, 0}, {48, 2}});
  add("odd_pairs_of_sources", {7, 2, 1, 33},
      {{7, 2, 1, 33}, {48, 192, 192, 384}, {3, 0}, {24, 2}});
  add("many_columns", {40, 200},
      {{40, 200}, {6400, 6400}, {1, 0, 1}, {100, 32, 2}});
  add("padded_filters", {40, 1, 1, 36},
      {{40, 1, 1, 36}, {1152, 1152, 1152, 1152}, {3, 0, 3}, {18, 32, 2}});
  add("runs_of_eight", {6, 16}, {{6, 16}, {8, 48}, {1}, {8}});
  add("groups", {12, 3, 3, 2},
      {{4, 3, 3, 3, 2}, {9 * 8, 9 * 8, 24, 8, 4}, {1}, {4}});
  add("long", {200, 31}, {{200, 31}, {96, 96 * 200}, {1}, {96}});
  add("wide", {2, 9000}, {{2, 9000}, {1, 2}, {}, {}});
  for (const DType dtype : {DType::i8, DType::u16, DType::i64}) {
    add(std::string(name_of(dtype)), {7, 5}, {{7, 5}, {24, 12}, {1, 0}, {3, 4}},
        dtype);
  }
}

}  // namespace plimsoll::ops::testing
