#include "ops/embedding/embedding.h"

#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

OpRecord embedding_record(const Lookup& lookup) {
  OpRecord record;
  record.name = "embedding_" + lookup.name;
  record.op = find_op("gather");
  record.attrs = {{"axis", std::int64_t{0}}, {"from_end", false}};
  record.inputs = {lookup.table(), {lookup.dtype, lookup.indices}};
  record.ranges = {{-1, 1}, lookup.range};
  record.tolerance = 0;
  return record;
}

OpRecord embedding_grad_record(const Lookup& lookup) {
  OpRecord record;
  record.name = "embedding_grad_" + lookup.name;
  record.op = find_op("scatter_add");
  record.attrs = {
      {"axis", std::int64_t{0}}, {"extent", lookup.rows}, {"from_end", false}};
  record.inputs = {lookup.picked(), {lookup.dtype, lookup.indices}};
  record.ranges = {{-1, 1}, lookup.range};
  return record;
}

OpRecord row_update_record(const Lookup& lookup, UpdateRule rule,
                           graph::Attrs attrs) {
  const UpdateForm& form = update_form(rule);
  const bool adam = form.step;
  OpRecord record;
  record.name = std::string(form.rows_op) + "_" + lookup.name;
  record.op = find_op(form.rows_op);
  record.attrs = std::move(attrs);
  record.inputs = {lookup.table(), lookup.picked()};
  record.ranges = {{-1, 1}, {-1, 1}};
  for (int i = 0; i < form.states; ++i) {
    record.inputs.push_back(lookup.table());
    // Of RMSprop and Adagrad a mean of squares, then what is small beside it.
    record.ranges.push_back(adam     ? Range{i == 0 ? -1.0 : 0.0, 1}
                            : i == 0 ? Range{0.5, 1}
                                     : Range{-0.4, 0.4});
  }
  record.inputs.push_back({DType::f32, Shape{}});
  record.ranges.push_back({0.001, 0.1});
  if (form.step) {
    record.inputs.push_back({DType::i64, Shape{}});
    record.ranges.push_back({1, 2000, true});
  }
  record.inputs.push_back({lookup.dtype, lookup.indices});
  record.ranges.push_back(lookup.range);
  return record;
}

namespace {

Range all_of(std::int64_t rows) {
  return {0, static_cast<double>(rows - 1), true};
}

}  // namespace

std::vector<OpRecord> embedding_records() {
  const Range one_row{3, 3, true};
  const std::vector<Lookup> lookups = {
      {"one", {1}, 1, 1, all_of(1)},
      {"scalar", {}, 7, 3, all_of(7)},
      {"rows", {32}, 50, 16, all_of(50)},
      {"sequence", {3, 5}, 9, 7, all_of(9), DType::i64},
      {"cube", {2, 3, 4}, 100, 33, all_of(100)},
      // Indices that name no row, near and far.
      {"outside", {40}, 11, 5, {-3, 14, true}},
      {"far_outside", {9}, 4, 8, {-2e9, 2e9, true}},
      {"far_outside_wide", {9}, 4, 8, {-9e18, 9e18, true}, DType::i64},
      {"none_inside", {6}, 4, 8, {4, 90, true}, DType::i64},
      // One row alone, through several pieces of a sum.
      {"same", {300}, 8, 12, one_row},
      {"same_many", {5000}, 8, 4, one_row, DType::i64},
      // Several tiles, an odd rest; few rows, and more rows than indices.
      {"tiles", {3, 683}, 40, 10, all_of(40)},
      {"tile_and_one", {1025}, 100000, 2, all_of(100000), DType::i64},
      {"many", {9001}, 300, 20, {-5, 310, true}},
      {"many_rows", {20000}, 1 << 17, 1, all_of(1 << 17)},
  };
  const graph::Attrs adam{
      {"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}};
  graph::Attrs adamw = adam;
  adamw.set("weight_decay", 0.01);
  const graph::Attrs momentum{{"momentum", 0.9}};
  const graph::Attrs rmsprop{
      {"rho", 0.9}, {"momentum", 0.8}, {"epsilon", 1e-7}};
  using R = UpdateRule;
  std::vector<OpRecord> records;
  for (const Lookup& lookup : lookups) {
    records.push_back(embedding_record(lookup));
    const bool small = lookup.indices.elements() <= 40;
    if (small && lookup.range.low >= 0 &&
        lookup.range.high < static_cast<double>(lookup.rows)) {
      records.back().gradient_of = {0};
    }
    const std::size_t first = records.size();
    records.push_back(embedding_grad_record(lookup));
    records.push_back(row_update_record(lookup, R::sgd, {}));
    records.push_back(row_update_record(lookup, R::sgd_momentum, momentum));
    // The others differ in their formula alone.
    if (lookup.dtype == DType::i32) {
      records.push_back(row_update_record(lookup, R::adam, adam));
    } else {
      records.push_back(row_update_record(lookup, R::adamw, adamw));
    }
    if (small) {
      records.push_back(row_update_record(lookup, R::sgd_nesterov, momentum));
      records.push_back(
          row_update_record(lookup, R::adagrad, {{"epsilon", 1e-7}}));
      for (const R rule : {R::rmsprop, R::rmsprop_momentum, R::rmsprop_centered,
                           R::rmsprop_centered_momentum}) {
        records.push_back(row_update_record(lookup, rule, rmsprop));
      }
    }
    // Behind a gate, open or closed.
    if (small) {
      for (const double gate : {0.25, 0.0}) {
        const std::string suffix = gate == 0 ? "_closed" : "_gated";
        for (OpRecord record :
             {row_update_record(lookup, R::sgd, {}),
              row_update_record(lookup, R::sgd_momentum, momentum),
              row_update_record(lookup, R::adamw, adamw),
              row_update_record(lookup, R::rmsprop_centered_momentum,
                                rmsprop)}) {
          record.name += suffix;
          record.inputs.insert(record.inputs.end() - 1, {DType::f32, Shape{}});
          record.ranges.insert(record.ranges.end() - 1, Range{gate, gate});
          records.push_back(std::move(record));
        }
      }
    }
    for (std::size_t i = first; i < records.size(); ++i) {
      // Sums of thousands round as they go.
      records[i].tolerance = small ? 2e-6 : 3e-5;
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
