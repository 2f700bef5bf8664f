// Updates of whole parameters, and of the rows of tables that a batch names.
#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

// Behind a gate or not. The indices of rows are behind it.
void add_gate(Draws& draw, OpRecord& record, bool rows) {
  if (!draw.one_in(3)) return;
  const double gate = draw.one_of({0.25, 0.0});
  const std::ptrdiff_t behind = rows ? 1 : 0;
  record.inputs.insert(record.inputs.end() - behind, {DType::f32, Shape{}});
  record.ranges.insert(record.ranges.end() - behind, Range{gate, gate});
}

}  // namespace

std::vector<OpRecord> random_updates(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const Shape shape = draw.shape(static_cast<int>(draw.between(0, 4)),
                                   draw.one_in(8) ? 100'000 : 5'000);
    const auto& form = kUpdateForms[static_cast<std::size_t>(
        draw.between(0, static_cast<std::int64_t>(kUpdateForms.size()) - 1))];
    records.push_back(
        update_record(fmt::format("_{}", draw.name(made)), form, shape));
    add_gate(draw, records.back(), false);
    OpRecord finite;
    finite.name = fmt::format("all_finite_{}", draw.name(made));
    finite.op = find_op("all_finite");
    finite.inputs = {{DType::f32, shape}};
    finite.ranges = {{-1, 1, false, draw.one_of({0.0, 1e-4, 1.0})}};
    records.push_back(std::move(finite));
  }
  return records;
}

std::vector<OpRecord> random_embeddings(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    Lookup lookup;
    lookup.name = draw.name(made);
    lookup.width = draw.extent(130);
    lookup.indices = draw.shape(
        static_cast<int>(draw.between(0, 3)),
        std::max<std::int64_t>(
            1, draw.one_in(4) ? draw.some_or(60'000, 400'000) / lookup.width
                              : 60));
    lookup.rows = draw.extent(std::max<std::int64_t>(1, 60'000 / lookup.width));
    lookup.dtype = draw.one_of({DType::i32, DType::i64});
    const auto rows = static_cast<double>(lookup.rows);
    lookup.range = draw.one_of<Range>({{0, rows - 1, true},
                                       {0, rows - 1, true},
                                       {-3, rows + 2, true},
                                       {0, std::min(2.0, rows - 1), true},
                                       {-2e9, 2e9, true}});
    records.push_back(embedding_record(lookup));
    records.push_back(embedding_grad_record(lookup));
    // The last one, lamb, has no form of rows.
    const auto rule = static_cast<UpdateRule>(
        draw.between(0, static_cast<std::int64_t>(UpdateRule::adagrad)));
    records.push_back(row_update_record(lookup, rule, update_attrs(rule)));
    add_gate(draw, records.back(), true);
    // Long sums of both signs cancel; dy stands first, or behind the table.
    if (lookup.indices.elements() > 2'000) {
      records[records.size() - 2].ranges[0] = {0, 1};
      records.back().ranges[1] = {0, 1};
    }
    for (std::size_t i = records.size() - 2; i < records.size(); ++i) {
      // Sums of thousands round as they go.
      records[i].tolerance = lookup.indices.elements() > 60 ? 1e-4 : 1e-5;
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
