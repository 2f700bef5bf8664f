#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {
namespace {

constexpr NormKind kKinds[] = {NormKind::layer, NormKind::rms, NormKind::group,
                               NormKind::batch, NormKind::inference};

// dgamma and dbeta are sums over rows that cancel.
bool has_long_sums(const Shape& x) { return x.elements() / x.extent(-1) > 500; }

}  // namespace

std::vector<OpRecord> random_normalizations(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count; ++made) {
    const NormKind kind = kKinds[static_cast<std::size_t>(draw.between(0, 4))];
    const bool rows = kind == NormKind::layer || kind == NormKind::rms;
    auto extents = draw.extents(static_cast<int>(draw.between(rows ? 1 : 2, 4)),
                                draw.some_or(30'000, 400'000));
    graph::Attrs attrs;
    // Every channel is needed, and a group of a single value is all rounding
    // in f32 where the mean is far from 0: such a one is a record of its own.
    if (extents.back() == 0) extents.back() = 1;
    if (kind == NormKind::group) {
      const std::int64_t groups = draw.extent(12);
      extents.back() =
          groups * std::max<std::int64_t>(1, extents.back() / groups);
      attrs.set("groups", groups);
    }
    if (draw.one_in(3)) attrs.set("scale", draw.one_in(2));
    if (draw.one_in(3)) attrs.set("center", draw.one_in(2));
    if (draw.one_in(4)) attrs.set("epsilon", 1e-5);
    if (kind == NormKind::batch && draw.one_in(3)) attrs.set("unbiased", true);
    const Shape x = to_shape(extents);
    const bool wide = draw.one_in(2);
    for (const bool gradient : {false, true}) {
      OpRecord record = norm_record(
          fmt::format("{}_{}", norm_name(kind, gradient), draw.name(made)),
          kind, gradient, x, attrs);
      record.gradient_of.clear();
      if (gradient && has_long_sums(x)) {
        record.tolerance = 1e-4;
        record.f64_tolerance = 1e-11;
      }
      const NormForm form = norm_form(kind, gradient, attrs);
      for (const int position : {form.gamma, form.beta}) {
        if (wide && position >= 0) record.wide_inputs.push_back(position);
      }
      records.push_back(std::move(record));
    }
  }
  return records;
}

}  // namespace plimsoll::ops::testing
