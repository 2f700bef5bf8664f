#include <cmath>

#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

Range classes_of(Draws& draw, std::int64_t classes) {
  const auto most = static_cast<double>(classes);
  switch (draw.between(0, 5)) {
    case 0:  // some of them name no class
      return {-2, most + 1, true};
    case 1:
      return {-2e9, 2e9, true};
    default:
      return {0, most - 1, true};
  }
}

}  // namespace

std::vector<OpRecord> random_softmaxes(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    auto extents = draw.extents(static_cast<int>(draw.between(1, 4)), 20'000);
    if (extents.back() == 0) extents.back() = 1;
    for (const char* const op : {"softmax", "softmax_grad"}) {
      OpRecord record;
      record.name = fmt::format("{}_{}", op, draw.name(made));
      record.op = find_op(op);
      record.inputs = {{DType::f32, to_shape(extents)}};
      record.ranges = {draw.one_of<Range>({{-5, 5}, {-1, 1}, {-200, 200}})};
      if (record.name.starts_with("softmax_grad")) {
        record.inputs.push_back(record.inputs[0]);
        record.ranges = {{-1, 1}, {0, 1}};
        // y that is no softmax adds up to half of the row's length.
        record.tolerance = 1e-5 * std::max(1.0, double(extents.back()) / 500);
      }
      records.push_back(std::move(record));
    }
  }
  return records;
}

std::vector<OpRecord> random_losses(std::uint64_t seed, int count) {
  constexpr std::int64_t kMostProducts = 1'500'000;
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const Shape rows = draw.shape(static_cast<int>(draw.between(0, 2)), 300);
    const std::int64_t classes = draw.extent(700);
    const Range logits =
        draw.one_of<Range>({{-4, 4}, {-4, 4}, {-100, 100}, {-1e4, 1e4}});
    const std::string name = draw.name(made);
    add_dense_losses(records, name, rows, classes, logits);
    add_sparse_losses(records, name, rows, classes, logits,
                      classes_of(draw, classes));
    // Now and then so many logits that they are made in chunks.
    const bool many = draw.one_in(30);
    const std::int64_t all = many ? draw.between(5'000, 12'000) : classes;
    const Shape some{many ? draw.between(150, 300) : rows.elements()};
    const std::int64_t products =
        all * std::max<std::int64_t>(1, some.elements());
    const std::int64_t width = std::min(
        draw.extent(130), std::max<std::int64_t>(1, kMostProducts / products));
    const std::size_t first = records.size();
    add_linear_losses(records, name, some, width, all, classes_of(draw, all),
                      false);
    // The logits' gradients are rounded in 16 bits: over many rows of one
    // example's size each they would not leave the weight's to 16 bits.
    const double rows_of_all = static_cast<double>(some.elements());
    const double most = std::min(1.0, 1.5 / std::sqrt(rows_of_all + 1));
    for (std::size_t i = first; i < records.size(); ++i) {
      OpRecord& record = records[i];
      if (record.op->name.ends_with("_grad")) record.ranges[0] = {-most, most};
    }
  }
  for (OpRecord& record : records) record.gradient_of.clear();
  return records;
}

}  // namespace plimsoll::ops::testing
